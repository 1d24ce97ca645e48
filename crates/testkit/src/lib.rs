//! What the tests share: the store contract, scratch projects, small programs. Never shipped.
//!
//! | what | where |
//! |---|---|
//! | what every store must do | [`contract`], [`store_contract!`] |
//! | time and ids from a seed | [`chance`] |
//! | folders that go when the test ends | [`scratch`] |
//! | plans and commands to try things with | [`sketch`] |
//! | processes that append, and are killed | [`append`], [`child`] |
//! | a disk whose power can be cut, and a store on it | [`disk`], [`backing`] |
//! | a model that is none, for the real agent programs | [`fake_api`] |

pub mod append;
pub mod backing;
pub mod chance;
pub mod child;
pub mod contract;
pub mod disk;
pub mod fake_api;
pub mod scratch;
pub mod sketch;
