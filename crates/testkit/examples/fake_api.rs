//! A server that answers as a model would, started by hand:
//! `cargo run -p piton-testkit --example fake_api -- tools 18181 /path/to/project`.
//!
//! It prints its address, then each request as a line of JSON, until it is
//! interrupted. In place of a name the path of a file in JSON with a scenario.

use std::path::Path;
use std::time::Duration;

use piton_testkit::fake_api::{FakeApi, NAMES, Scenario, named};

#[expect(
    clippy::print_stdout,
    reason = "a program that is started by hand says where it listens"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = args.first() else {
        println!("usage: fake_api NAME|FILE.json [PORT] [WORK FOLDER]\n");
        for (name, what) in NAMES {
            println!("  {name:<16} {what}");
        }
        return Ok(());
    };
    let mut scenario: Scenario = match named(name) {
        Some(scenario) => scenario,
        None => serde_json::from_str(&std::fs::read_to_string(name)?)?,
    };
    if let Some(work) = args.get(2) {
        scenario = scenario.in_folder(Path::new(work));
    }
    let port = args.get(1).map_or(Ok(0), |port| port.parse())?;
    let api = FakeApi::start_at(scenario, port)?;
    println!("{}", api.url());
    for count in 0.. {
        let request = loop {
            if let Some(request) = api.request_after(count, Duration::from_secs(3_600)) {
                break request;
            }
        };
        println!("{}", serde_json::to_string(&request)?);
    }
    Ok(())
}
