//! Room for exchanges, host by host, while a claim looks for what is due.

use std::collections::HashMap;

use super::connection::{Connection, Value, limit, parameters, text};
use super::{Claim, StoreError};

/// What a claim has found, and how many exchanges each host has with that.
///
/// What is due is read a window at a time. A host with thousands of callbacks could fill every window, so one that is full
/// is left out of the next; a claim that would need many windows ends earlier, with less.
pub(super) struct HostRoom<'a> {
    claim: &'a Claim,
    busy: HashMap<String, usize>,
    pub(super) found: Vec<i64>,
}

impl<'a> HostRoom<'a> {
    pub(super) fn new(claim: &'a Claim) -> HostRoom<'a> {
        HostRoom {
            claim,
            busy: claim.busy.clone(),
            found: Vec::new(),
        }
    }

    /// Finds ids by `sql`, which selects host and id, as far as the claim's limit goes and their hosts have room. `HOSTS` in
    /// the statement stands for the condition on the hosts.
    pub(super) fn fill(
        &mut self,
        db: &mut dyn Connection,
        sql: &str,
        values: &[Value],
    ) -> Result<(), StoreError> {
        let Claim {
            limit: most,
            per_host,
            ..
        } = *self.claim;
        for _ in 0..WINDOWS_MAX {
            if self.found.len() >= most {
                break;
            }
            let full = self.busy.iter().filter(|(_, count)| **count >= per_host);
            let full: Vec<Value> = full.map(|(host, _)| text(host)).collect();
            let first = values.len() + 1;
            let condition = match full.len() {
                0 => "1 = 1".to_owned(),
                count => format!("host NOT IN ({})", parameters(first + 1, count)),
            };
            let sql = format!("{} LIMIT ${first}", sql.replace("HOSTS", &condition));
            // Nothing is claimed yet, so what was found is found again.
            let rows = db.query(&sql, &[values, &[limit(most)], &full].concat())?;
            for row in &rows {
                let (host, id) = (row.get("host")?, row.get("id")?);
                let busy = self.busy.entry(host).or_default();
                let has_room = self.found.len() < most && *busy < per_host;
                if has_room && !self.found.contains(&id) {
                    *busy += 1;
                    self.found.push(id);
                }
            }
            if rows.len() < most {
                break;
            }
        }
        Ok(())
    }
}

/// Windows looked at for one statement.
const WINDOWS_MAX: usize = 8;
