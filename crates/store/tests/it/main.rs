//! What the stores promise, tried on each of them.

use piton_testkit::contract;
use piton_testkit::store_contract;

mod agreement;
mod backup;
mod crash;
mod damage;
mod disk;
mod hash_forms;
mod loss;
mod many_processes;
mod model;
mod old_versions;
mod opening;
mod reading;
mod recall;
mod statements;
mod syscalls;
mod waiting;

store_contract!(memory, contract::memory);
store_contract!(sqlite, contract::sqlite);
