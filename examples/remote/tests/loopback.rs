//! What the protocol answers is what `usage()` says.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use bevy_frame_arena::{FrameArenas, FrameUsage};
use serde_json::Value;

const REQUEST: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "world.get_resources",
    "params": {"resource": "bevy_frame_arena::FrameArenaReport"}}"#;

/// Returns a port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    listener.local_addr().expect("it has an address").port()
}

/// Asks once the game listens, and returns the answer.
fn ask(port: u16) -> String {
    let mut stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(stream) => break stream,
            Err(_) => thread::yield_now(),
        }
    };
    let length = REQUEST.len();
    // The older version, in which a body is not sent in chunks.
    write!(
        stream,
        "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{REQUEST}"
    )
    .expect("the game listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is text");
    answer
}

#[test]
fn the_report_is_read_over_loopback() {
    let port = free_port();
    let mut app = remote::game(port);
    app.finish();
    app.cleanup();
    // The period before the first frame uses nothing.
    (0..3).for_each(|_| app.update());
    let (send, receive) = mpsc::channel();
    let client = thread::spawn(move || send.send(ask(port)));
    let mut usages = Vec::new();
    let answer = loop {
        app.update();
        usages.push(app.world().resource::<FrameArenas>().usage().clone());
        match receive.recv_timeout(Duration::from_millis(1)) {
            Ok(answer) => break answer,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => panic!("{:?}", client.join()),
        }
    };
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let answer: Value = serde_json::from_str(body).expect("it is JSON");
    let frame = &answer["result"]["value"]["arenas"][0];
    assert_eq!(frame["prefix"], "frame_arena", "{answer}");
    let is_answered = |usage: &&FrameUsage| frame["usage"]["period"] == usage.period;
    let usage = usages.iter().find(is_answered).expect("a frame that was");
    let figures = &frame["usage"]["figures"];
    assert_eq!(figures["used_bytes"], usage.used_bytes);
    assert_eq!(figures["peak_bytes"], usage.peak_bytes);
    assert_eq!(figures["reserved_bytes"], usage.reserved_bytes);
    assert_eq!(usage.used_bytes, 1000 * size_of::<usize>());
    assert_eq!(frame["usage"]["workers"][0]["name"], *usage.workers[0].name);
}
