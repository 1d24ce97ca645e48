//! What the memory is found by: the tokens of what is followed.
//!
//! The index is made of the rows of the memory alone, by the same function that
//! changes them, so that it is never older than they are.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use piton_core::Row;
use piton_core::memory::MemoryRow;
use piton_core::recall::{
    CandidateSet, IndexedMemory, MemoryDocument, NEAR_MAX, Postings, Query, choose_candidates,
    choose_similar, query_statistics,
};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use super::checksum::{check_body, checksum_of_body};
use super::rows::{parse_row, to_sqlite_integer};

/// The last holders of a token; of `0 + ?` see `load::LAST_OF_KIND`.
pub(super) const HOLDERS: &str = "SELECT position FROM postings \
    WHERE token = (SELECT id FROM tokens WHERE token = ?1) \
    ORDER BY position DESC LIMIT 0 + ?2";

/// Brings the index from `before` to `after`, of one row.
pub(super) fn update_index(
    connection: &Connection,
    before: Option<&Row>,
    after: Option<&Row>,
) -> Result<()> {
    let (old, new) = (as_followed_memory(before), as_followed_memory(after));
    match (old, new) {
        (None, None) => Ok(()),
        (Some(old), None) => remove_document(connection, old.position),
        (None, Some(new)) => insert_document(connection, new),
        (Some(old), Some(new)) if document_texts(old) == document_texts(new) => {
            update_document(connection, new)
        }
        (Some(old), Some(new)) => {
            remove_document(connection, old.position)?;
            insert_document(connection, new)
        }
    }
}

fn as_followed_memory(row: Option<&Row>) -> Option<&MemoryRow> {
    match row {
        Some(Row::Memory(row)) => Some(&**row).filter(|row| row.is_followed()),
        _ => None,
    }
}

/// What its document is made of.
fn document_texts(row: &MemoryRow) -> (Option<&str>, &str, Option<&str>) {
    let memory = &row.memory;
    (
        memory.title.as_deref(),
        &memory.content,
        memory.context.as_deref(),
    )
}

/// The columns that change without a change of words.
fn recency_and_uses(row: &MemoryRow) -> (i64, i64, i64) {
    let learned = row.learned_at().as_microsecond();
    (
        learned,
        to_sqlite_integer(row.uses.helped),
        to_sqlite_integer(row.uses.failed),
    )
}

fn update_document(connection: &Connection, row: &MemoryRow) -> Result<()> {
    let (learned, helped, failed) = recency_and_uses(row);
    let sql = "UPDATE documents SET learned = ?2, helped = ?3, failed = ?4 WHERE position = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![
        to_sqlite_integer(row.position),
        learned,
        helped,
        failed
    ])?;
    Ok(())
}

fn insert_document(connection: &Connection, row: &MemoryRow) -> Result<()> {
    let document = MemoryDocument::from_memory(&row.memory);
    let position = to_sqlite_integer(row.position);
    let (learned, helped, failed) = recency_and_uses(row);
    let sql = "INSERT INTO documents (position, id, learned, helped, failed, body, checksum) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let body = document.to_text();
    connection.prepare_cached(sql)?.execute(params![
        position,
        row.id,
        learned,
        helped,
        failed,
        body,
        checksum_of_body(&body)
    ])?;
    let hold = "INSERT INTO tokens (token, holding) VALUES (?1, 1) \
                ON CONFLICT (token) DO UPDATE SET holding = holding + 1 RETURNING id";
    let mut hold = connection.prepare_cached(hold)?;
    let mut post =
        connection.prepare_cached("INSERT INTO postings (token, position) VALUES (?1, ?2)")?;
    for token in document.tokens() {
        let id: i64 = hold.query_row([token], |row| row.get(0))?;
        post.execute([id, position])?;
    }
    adjust_totals(
        connection,
        1,
        to_sqlite_integer(document.length_in_tenths()),
    )
}

fn remove_document(connection: &Connection, position: u64) -> Result<()> {
    let position = to_sqlite_integer(position);
    let sql = "SELECT body, checksum FROM documents WHERE position = ?1";
    let body: Option<String> = connection
        .prepare_cached(sql)?
        .query_row([position], |row| {
            let body: String = row.get(0)?;
            check_body("documents", &body, row.get_ref(1)?)?;
            Ok(body)
        })
        .optional()?;
    let Some(document) = body.and_then(|body| MemoryDocument::parse_with_tokens(&body, |_| true))
    else {
        return Ok(());
    };
    // By what was stored, whatever a document would be made of today.
    let leave = "UPDATE tokens SET holding = holding - 1 WHERE token = ?1 RETURNING id";
    let mut leave = connection.prepare_cached(leave)?;
    let mut unpost =
        connection.prepare_cached("DELETE FROM postings WHERE token = ?1 AND position = ?2")?;
    for token in document.tokens() {
        let id: Option<i64> = leave.query_row([token], |row| row.get(0)).optional()?;
        if let Some(id) = id {
            unpost.execute([id, position])?;
        }
    }
    connection
        .prepare_cached("DELETE FROM documents WHERE position = ?1")?
        .execute([position])?;
    adjust_totals(
        connection,
        -1,
        -to_sqlite_integer(document.length_in_tenths()),
    )
}

fn adjust_totals(connection: &Connection, documents: i64, tenths: i64) -> Result<()> {
    let sql = "UPDATE totals SET documents = documents + ?1, tenths = tenths + ?2";
    connection
        .prepare_cached(sql)?
        .execute([documents, tenths])?;
    Ok(())
}

/// Makes the index of all rows that there are, anew.
pub(super) fn rebuild_index(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "DELETE FROM postings; DELETE FROM tokens; DELETE FROM documents; \
         UPDATE totals SET documents = 0, tenths = 0",
    )?;
    let mut statement = connection.prepare("SELECT body FROM memory ORDER BY kind, number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let row = parse_row("memory", row.get_ref(0)?.as_str()?).map_err(FromSqlError::other)?;
        update_index(connection, None, Some(&row))?;
    }
    Ok(())
}

/// The index, as the core asks it.
pub(super) struct SqliteIndex<'c> {
    pub(super) connection: &'c Connection,
}

impl Postings for SqliteIndex<'_> {
    type Error = rusqlite::Error;

    fn memory_totals(&mut self) -> Result<(u64, u64)> {
        let sql = "SELECT documents, tenths FROM totals";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row([], |row| {
            Ok((to_unsigned(row.get(0)?), to_unsigned(row.get(1)?)))
        })
    }

    fn document_frequency(&mut self, token: &str) -> Result<u64> {
        let sql = "SELECT holding FROM tokens WHERE token = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let holding = statement.query_row([token], |row| row.get(0)).optional()?;
        Ok(holding.map_or(0, to_unsigned))
    }

    fn memories_with_token(&mut self, token: &str, most: usize) -> Result<Vec<u64>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(HOLDERS)?;
        let found = statement.query_map(params![token, most], |row| row.get(0).map(to_unsigned))?;
        found.collect()
    }
}

/// Counts and positions are never below 0.
fn to_unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// What the index has to say to a query.
pub(super) fn find_candidates(connection: &Connection, query: &Query) -> Result<CandidateSet> {
    let mut index = SqliteIndex { connection };
    let statistics = query_statistics(query, &mut index)?;
    let chosen = choose_candidates(query, &statistics, &mut index)?;
    let asked: HashSet<&str> = query.tokens().collect();
    let sql =
        "SELECT id, learned, helped, failed, body, checksum FROM documents WHERE position = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::with_capacity(chosen.len());
    for position in chosen {
        let mut rows = statement.query([to_sqlite_integer(position)])?;
        let Some(row) = rows.next()? else {
            continue;
        };
        let body = row.get_ref(4)?.as_str()?;
        check_body("documents", body, row.get_ref(5)?)?;
        let document = MemoryDocument::parse_with_tokens(body, |token| asked.contains(token));
        let no_document = || FromSqlError::InvalidType;
        found.push(IndexedMemory {
            id: row.get(0)?,
            learned_at: Timestamp::from_microsecond(row.get(1)?).map_err(FromSqlError::other)?,
            helped: to_unsigned(row.get(2)?),
            failed: to_unsigned(row.get(3)?),
            document: document.ok_or_else(no_document)?,
        });
    }
    Ok(CandidateSet { statistics, found })
}

/// The ids of the memories that share most with these tokens.
pub(super) fn find_similar(connection: &Connection, tokens: &[String]) -> Result<Vec<String>> {
    let chosen = choose_similar(tokens, &mut SqliteIndex { connection }, NEAR_MAX)?;
    let sql = "SELECT id FROM documents WHERE position = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    chosen
        .into_iter()
        .map(|position| statement.query_row([to_sqlite_integer(position)], |row| row.get(0)))
        .collect()
}

/// What the index must hold, as `verify` learns it from the rows.
#[derive(Default)]
pub(super) struct ExpectedIndex {
    documents: i64,
    tenths: i64,
    /// Of each token, how many hold it, and the sum of their positions.
    tokens: HashMap<String, (i64, i64)>,
}

impl ExpectedIndex {
    /// Takes a row in, and says what is wrong with its document.
    pub(super) fn check_row(
        &mut self,
        connection: &Connection,
        row: &MemoryRow,
    ) -> Result<Option<String>> {
        if !row.is_followed() {
            return Ok(None);
        }
        let document = MemoryDocument::from_memory(&row.memory);
        let position = to_sqlite_integer(row.position);
        self.documents += 1;
        self.tenths += to_sqlite_integer(document.length_in_tenths());
        for token in document.tokens() {
            let (holding, sum) = self.tokens.entry(token.to_owned()).or_default();
            *holding += 1;
            *sum = sum.wrapping_add(position);
        }
        let sql =
            "SELECT body, id, learned, helped, failed, checksum FROM documents WHERE position = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let kept = statement.query_row([position], |kept| {
            let standing = (kept.get(2)?, kept.get(3)?, kept.get(4)?);
            Ok((
                kept.get::<_, String>(0)?,
                kept.get::<_, String>(1)?,
                standing,
                kept.get::<_, i64>(5)?,
            ))
        });
        let kept = kept.optional()?;
        let body = document.to_text();
        let checksum = checksum_of_body(&body);
        let is_as_it_should_be =
            kept == Some((body, row.id.clone(), recency_and_uses(row), checksum));
        Ok((!is_as_it_should_be).then(|| format!("memory {} is not found as it reads", row.id)))
    }

    /// What is wrong with the rest of the index.
    pub(super) fn check_rest(self, connection: &Connection) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let (documents, tenths): (i64, i64) =
            connection.query_row("SELECT documents, tenths FROM totals", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let stored: i64 =
            connection.query_row("SELECT count(*) FROM documents", [], |row| row.get(0))?;
        if (documents, stored, tenths) != (self.documents, self.documents, self.tenths) {
            wrong.push("the memories are not counted right".to_owned());
        }
        let mut expected = self.tokens;
        let sql = "SELECT token, holding, (SELECT count(*) FROM postings WHERE token = tokens.id), \
                   (SELECT total(position) FROM postings WHERE token = tokens.id) FROM tokens";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let token: String = row.get(0)?;
            let (holding, count): (i64, i64) = (row.get(1)?, row.get(2)?);
            let sum: f64 = row.get(3)?;
            let (should, sum_should) = expected.remove(&token).unwrap_or_default();
            #[expect(
                clippy::cast_precision_loss,
                reason = "compared with a sum of the same kind"
            )]
            let is_right = (holding, count) == (should, should) && sum == sum_should as f64;
            if !is_right {
                wrong.push(format!("`{token}` does not lead to what holds it"));
            }
        }
        wrong.extend(
            expected
                .into_keys()
                .map(|token| format!("`{token}` leads nowhere")),
        );
        wrong.truncate(20);
        Ok(wrong)
    }
}
