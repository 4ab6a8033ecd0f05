//! Room for exchanges, host by host, while a claim looks for what is due.

use std::collections::{HashMap, HashSet};

use super::connection::{Connection, Row, Value};
use super::rows::parameters;
use super::{Claim, StoreError};

/// How much more may be claimed, and of which hosts no more.
///
/// What is due is read a window at a time. A host with thousands of callbacks could fill every window, so one that is full
/// is left out of the next; a claim that would need many windows ends earlier, with less.
pub(super) struct HostRoom<'a> {
    claim: &'a Claim,
    /// Exchanges with each host, those claimed here included.
    busy: HashMap<String, usize>,
    found: usize,
}

impl<'a> HostRoom<'a> {
    pub(super) fn new(claim: &'a Claim) -> HostRoom<'a> {
        HostRoom {
            claim,
            busy: claim.busy.clone(),
            found: 0,
        }
    }

    /// Returns ids and rows of `sql`, as far as the claim's limit goes and there is room for their hosts. Host and id are the
    /// first two columns. `HOSTS` in the statement stands for the condition on the hosts.
    pub(super) fn fill(
        &mut self,
        db: &mut dyn Connection,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<(i64, Row)>, StoreError> {
        let mut found = Vec::new();
        let mut ids = HashSet::new();
        for _ in 0..WINDOWS_MAX {
            let wanted = self.claim.limit.saturating_sub(self.found);
            if wanted == 0 {
                break;
            }
            let is_full = |entry: &(&String, &usize)| *entry.1 >= self.claim.per_host;
            let full = self.busy.iter().filter(is_full);
            let mut full: Vec<String> = full.map(|(host, _)| host.clone()).collect();
            full.sort_unstable();
            let condition = match full.len() {
                0 => "1 = 1".to_owned(),
                count => format!("host NOT IN ({})", parameters(values.len() + 2, count)),
            };
            let sql = sql.replace("HOSTS", &condition);
            let sql = format!("{sql} LIMIT ${}", values.len() + 1);
            // Nothing is claimed yet, so what was found is found again.
            let limit = wanted + ids.len();
            let mut all = values.to_vec();
            all.push(limit.into());
            all.extend(full.into_iter().map(Value::from));
            let rows = db.query(&sql, &all)?;
            let is_last = rows.len() < limit;
            for mut row in rows {
                let (host, id) = (row.text("host")?, row.int("id")?);
                let busy = self.busy.entry(host).or_default();
                let has_room = self.found < self.claim.limit && *busy < self.claim.per_host;
                if has_room && ids.insert(id) {
                    *busy += 1;
                    self.found += 1;
                    found.push((id, row));
                }
            }
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}

/// Windows looked at in one place.
const WINDOWS_MAX: usize = 8;
