//! Whole runs of the simulation, committed on the simulated disk: crashes come
//! between commands and in the middle of a commit, and take what was not flushed.
//!
//! Every command is carried out by the store and by the model of the simulation,
//! and both must answer the same. After each crash the store is opened again:
//! what was acknowledged is there, a command that was not is there whole or not
//! at all, and its rows are those of the model.

use std::rc::Rc;

use piton_simkit::seed::mix;
use piton_simkit::simulation::{Chaos, Sim, for_each_seed};
use piton_testkit::backing::{StoreOnDisk, Trials};

/// Each takes a second of CPU or so: `PITON_SIM_SEEDS=N` tries more.
const SEEDS: u32 = 50;

#[test]
fn a_run_on_a_disk_that_loses_power_ends_and_loses_nothing_acknowledged() {
    let trials = Rc::new(Trials::default());
    for_each_seed(SEEDS, |seed| {
        let chaos = Chaos {
            crashes: 1 + seed % 6,
            signals: seed % 3,
            meddling: seed % 8,
        };
        let store = StoreOnDisk::new(mix(u64::from(seed)), Rc::clone(&trials));
        let sim = Sim::on(seed, chaos, Some(Box::new(store)));
        sim.carried_through().check_end();
    });
    assert!(trials.acknowledged.get() > 0, "{trials:?}");
    assert!(trials.restarts.get() > 0, "{trials:?}");
    #[expect(clippy::print_stdout, reason = "what was tried is worth knowing")]
    {
        println!(
            "faults: power: simulated runs: {} commits acknowledged, {} cuts in the middle of one, {} restarts, lost 0",
            trials.acknowledged.get(),
            trials.cut_commits.get(),
            trials.restarts.get()
        );
    }
}
