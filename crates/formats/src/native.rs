//! What of a thing only one format has, packed for the journal and unpacked.

use piton_core::native::Native;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the shape of every body so far.
pub(crate) const VERSION: u32 = 1;

/// A text that only this format understands.
pub(crate) fn native_of_body(face: &str, body: String) -> Native {
    Native {
        face: face.to_owned(),
        version: VERSION,
        body,
    }
}

/// A value that only this format understands.
pub(crate) fn pack(face: &str, value: &impl Serialize) -> Native {
    native_of_body(face, serde_json::to_string(value).expect("plain fields"))
}

/// What was kept of this format; none of another one.
pub(crate) fn native_body<'n>(native: Option<&'n Native>, face: &str) -> Option<&'n str> {
    let native = native.filter(|native| native.face == face)?;
    Some(&native.body)
}

/// The value that [`pack`] packed.
pub(crate) fn unpack<T: DeserializeOwned>(native: Option<&Native>, face: &str) -> Option<T> {
    serde_json::from_str(native_body(native, face)?).ok()
}
