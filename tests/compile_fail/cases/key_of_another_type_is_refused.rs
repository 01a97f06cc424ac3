use bevy_frame_arena::Pool;

fn main() {
    let mut names = Pool::new();
    let key = names.insert("Ferris");
    let numbers = Pool::<u32>::new();
    println!("{:?}", numbers.get(key));
}
