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
    claim: &'a Claim<'a>,
    taken: HashMap<String, usize>,
    found: usize,
}

impl<'a> HostRoom<'a> {
    pub(super) fn new(claim: &'a Claim<'a>) -> HostRoom<'a> {
        HostRoom {
            claim,
            taken: HashMap::new(),
            found: 0,
        }
    }

    /// Returns ids and rows of `sql`, as far as the claim's limit goes and there is room for their hosts. Host and id are the
    /// first two columns. `HOSTS` in the statement stands for the condition on the hosts.
    pub(super) fn fill(
        &mut self,
        connection: &mut dyn Connection,
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
            let full = self.full_hosts();
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
            let rows = connection.query(&sql, &all)?;
            let is_last = rows.len() < limit;
            for mut row in rows {
                let (host, id) = (row.text("host")?, row.int("id")?);
                if self.found < self.claim.limit && !ids.contains(&id) && self.take(host) {
                    ids.insert(id);
                    found.push((id, row));
                }
            }
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    /// Counts one more exchange with `host`, if one fits.
    fn take(&mut self, host: String) -> bool {
        let has_room = self.busy(&host) < self.claim.per_host;
        if has_room {
            *self.taken.entry(host).or_default() += 1;
            self.found += 1;
        }
        has_room
    }

    /// Hosts of which no more may be claimed.
    fn full_hosts(&self) -> Vec<String> {
        let hosts = self.claim.busy.keys().chain(self.taken.keys());
        let mut full: Vec<String> = hosts
            .filter(|host| self.busy(host) >= self.claim.per_host)
            .cloned()
            .collect();
        full.sort_unstable();
        full.dedup();
        full
    }

    fn busy(&self, host: &str) -> usize {
        let count = |hosts: &HashMap<String, usize>| hosts.get(host).copied().unwrap_or_default();
        count(self.claim.busy) + count(&self.taken)
    }
}

/// Windows looked at in one place.
const WINDOWS_MAX: usize = 8;
