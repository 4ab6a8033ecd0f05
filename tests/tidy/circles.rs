//! Finds circular dependencies between sibling modules: siblings may depend on each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// The path of a module, such as `["server", "reload"]`.
type ModulePath = Vec<String>;

/// Returns a fault for each pair of siblings that depend on each other, directly or indirectly.
pub(crate) fn faults(sources: &[Source]) -> Vec<String> {
    let modules: BTreeSet<ModulePath> = sources.iter().map(Source::module_path).collect();
    // For each sibling, the siblings that it names and where.
    let mut edges: BTreeMap<ModulePath, BTreeMap<ModulePath, String>> = BTreeMap::new();
    for source in sources {
        let own = source.module_path();
        for (line, target) in source.references() {
            let shared = own.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (own.get(..=shared), target.get(..=shared)) else {
                continue;
            };
            // The root's modules are ordered by the import table.
            if shared > 0 && modules.contains(to) {
                let places = edges.entry(from.to_vec()).or_default();
                let place = format!("{}:{line}", source.path);
                places.entry(to.to_vec()).or_insert(place);
            }
        }
    }
    let mut faults = Vec::new();
    for (from, targets) in &edges {
        for (to, place) in targets.iter().filter(|(to, _)| from < to) {
            if let Some(back) = reach(to, from, &edges) {
                faults.push(format!(
                    "{place}: `{}` names `{}`, which leads back to it at {back}",
                    from.join("::"),
                    to.join("::")
                ));
            }
        }
    }
    faults
}

/// Returns the location of the last reference on a path from `start` to `goal`, if there is one.
fn reach(
    start: &ModulePath,
    goal: &ModulePath,
    edges: &BTreeMap<ModulePath, BTreeMap<ModulePath, String>>,
) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(module) = waiting.pop() {
        let Some(targets) = edges.get(module).filter(|_| seen.insert(module)) else {
            continue;
        };
        if let Some(place) = targets.get(goal) {
            return Some(place.clone());
        }
        waiting.extend(targets.keys());
    }
    None
}
