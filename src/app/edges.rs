//! The two edges of a schedule: before all of its systems, and after all of them.
//!
//! A build pass, because an order between sets cannot say that: it reaches only systems in a set that
//! their author named, and a period must end before all systems, those included that are added later.
//! `indexmap` and `bevy_platform` are named for the signature of the pass.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::iter;

use bevy_ecs::schedule::graph::{DiGraph, Direction};
use bevy_ecs::schedule::{
    FlattenedDependencies, NodeId, Schedule, ScheduleBuildError, ScheduleBuildPass, ScheduleGraph,
    SystemKey, SystemSet, SystemSetKey,
};
use bevy_ecs::world::World;
use bevy_platform::hash::FixedHasher;
use indexmap::IndexSet;

/// Where in a schedule the period of a pace ends.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Edge {
    /// Before all other systems of the schedule.
    BeforeAll,
    /// After all other systems of the schedule, and the commands they gave.
    AfterAll,
}

/// Has a schedule keep the systems of an [`Edge`] there. To do it again changes nothing.
pub(super) fn keep_edges(schedule: &mut Schedule) {
    schedule.add_build_pass(KeepEdges);
}

/// Orders the systems of the two sets before and after all others, whenever a schedule is built.
#[derive(Debug)]
struct KeepEdges;

impl ScheduleBuildPass for KeepEdges {
    type EdgeOptions = ();

    fn add_dependency(&mut self, _from: NodeId, _to: NodeId, _options: Option<&()>) {}

    fn collapse_set(
        &mut self,
        _set: SystemSetKey,
        _systems: &IndexSet<SystemKey, FixedHasher>,
        _dependencies: &DiGraph<NodeId>,
    ) -> impl Iterator<Item = (NodeId, NodeId)> {
        iter::empty()
    }

    fn build(
        &mut self,
        _world: &mut World,
        graph: &mut ScheduleGraph,
        mut dependencies: FlattenedDependencies<'_>,
    ) -> Result<(), ScheduleBuildError> {
        let all: Vec<SystemKey> = dependencies.graph().nodes().collect();
        let first = systems_in(graph, Edge::BeforeAll);
        let last = systems_in(graph, Edge::AfterAll);
        // Those that were put outside on purpose, and the systems of the edge itself.
        let before = reach(dependencies.graph(), &first, Direction::Incoming);
        let after = reach(dependencies.graph(), &last, Direction::Outgoing);
        for &system in &all {
            if !before.contains(&system) {
                first
                    .iter()
                    .for_each(|&it| dependencies.add_edge(it, system));
            }
            if !after.contains(&system) {
                last.iter()
                    .for_each(|&it| dependencies.add_edge(system, it));
            }
        }
        Ok(())
    }
}

/// Returns the systems that are in a set themselves.
fn systems_in(graph: &ScheduleGraph, set: Edge) -> Vec<SystemKey> {
    let Some(set) = graph.system_sets.get_key(set.intern()) else {
        return Vec::new();
    };
    let members = graph.hierarchy().graph();
    members
        .neighbors_directed(NodeId::Set(set), Direction::Outgoing)
        .filter_map(|node| node.as_system())
        .collect()
}

/// Returns the systems that can be reached from some, and these.
fn reach(
    dependencies: &DiGraph<SystemKey>,
    from: &[SystemKey],
    direction: Direction,
) -> HashSet<SystemKey> {
    let mut reached = HashSet::new();
    let mut open = from.to_vec();
    while let Some(system) = open.pop() {
        if reached.insert(system) {
            open.extend(dependencies.neighbors_directed(system, direction));
        }
    }
    reached
}
