//! What a test logs on its own thread.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};

/// Keeps the text of every event.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
                write!(self.0, "{value:?}").expect("a string takes any text");
            }
        }
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(text.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Returns what `work` logs on this thread with this crate's words in it.
pub(crate) fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    with_default(log.clone(), work);
    let lines = log.0.lock().unwrap_or_else(PoisonError::into_inner);
    lines.clone()
}
