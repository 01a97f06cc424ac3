use bevy_frame_arena::Pool;

fn main() {
    let mut pool = Pool::new();
    let key = pool.insert(1);
    let mut visits = pool.iter();
    pool.remove(key);
    println!("{:?}", visits.next());
}
