//! The signals that ask this process to end.

use crate::failure::Failure;

/// Listens for signals while this lives, and calls a function for each.
pub(crate) struct SignalListener {
    handle: signal_hook::iterator::Handle,
}

impl SignalListener {
    /// Hears of each signal that asks this process to end, as long as `hear` wants to.
    pub(crate) fn listen(
        hear: impl Fn(&'static str) -> bool + Send + 'static,
    ) -> Result<Self, Failure> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let fault = |error: std::io::Error| {
            Failure::new("store.fault", "cannot listen for signals").with_source(error)
        };
        let mut signals =
            signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(fault)?;
        let handle = signals.handle();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let name = match signal {
                    SIGINT => "SIGINT",
                    SIGTERM => "SIGTERM",
                    _ => "SIGHUP",
                };
                if !hear(name) {
                    return;
                }
            }
        });
        Ok(Self { handle })
    }
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        self.handle.close();
    }
}
