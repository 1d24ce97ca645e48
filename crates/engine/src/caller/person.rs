//! What a person is called.

use std::fs;

use crate::git;
use crate::world::World;

/// A longer name is cut.
const CHARS_MAX: usize = 100;

impl World {
    /// The name of the person who calls: `PITON_USER`, else git's `user.name`,
    /// else the login.
    #[must_use]
    pub fn user_name(&self) -> &str {
        self.person.get_or_init(|| person_name(self))
    }
}

/// The name of the person who calls: `PITON_USER`, else git's `user.name`, else
/// the login, else the number of the user.
fn person_name(world: &World) -> String {
    let var = |name| single_line_name(world.var(name)?);
    let login = || ["USER", "LOGNAME"].into_iter().find_map(var);
    var("PITON_USER")
        .or_else(|| single_line_name(&git::user_name(world)?))
        .or_else(login)
        .unwrap_or_else(system_login)
}

/// A name as it can stand in a line; none where nothing of it is left.
fn single_line_name(name: &str) -> Option<String> {
    let plain: String = name.chars().filter(|c| !c.is_control()).collect();
    let cut: String = plain.trim().chars().take(CHARS_MAX).collect();
    (!cut.is_empty()).then_some(cut)
}

/// The login of the user that this process runs as, by the system's list.
fn system_login() -> String {
    login_of(rustix::process::getuid().as_raw())
}

/// The login of the user of that number, by the system's list; else the number.
pub(crate) fn login_of(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let login = login_of_uid(&users, uid).and_then(single_line_name);
    login.unwrap_or_else(|| format!("uid {uid}"))
}

/// The login with that number in a text of the form of passwd(5).
fn login_of_uid(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let login = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(login)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_by_its_number() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n";
        assert_eq!(login_of_uid(users, 1000), Some("ada"));
        assert_eq!(login_of_uid(users, 0), Some("root"));
        assert_eq!(login_of_uid(users, 7), None);
    }

    #[test]
    fn a_name_stands_in_one_line_and_is_not_endless() {
        assert_eq!(
            single_line_name(" Ada\n \u{1b}L ").as_deref(),
            Some("Ada L")
        );
        assert_eq!(single_line_name(" \t\n"), None);
        assert_eq!(
            single_line_name(&"x".repeat(500)).map(|name| name.len()),
            Some(CHARS_MAX)
        );
    }
}
