//! What the stores promise, tried on each of them.

use piton_testkit::{contract, store_contract};

store_contract!(memory, contract::memory);
store_contract!(sqlite, contract::sqlite);
