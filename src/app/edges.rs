//! The two edges of a schedule: before all of its systems, and after all of them.
//!
//! This needs a build pass. An order between sets reaches only systems whose author put them into a set,
//! and a period must end before or after all systems, including those added later. The signature of the
//! pass needs types of `indexmap` and `bevy_platform`.
#![forbid(unsafe_code)]

use std::any::TypeId;
use std::collections::HashSet;
use std::iter;

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::graph::{DiGraph, Direction};
use bevy_ecs::schedule::{
    FlattenedDependencies, NodeId, ScheduleBuildError, ScheduleBuildPass, ScheduleGraph, SystemKey,
    SystemSetKey,
};
use bevy_ecs::system::ScheduleSystem;
use bevy_platform::hash::FixedHasher;
use indexmap::IndexSet;

/// The edge of a schedule at which the period of a pace ends.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Edge {
    /// Before all other systems of the schedule.
    BeforeAll,
    /// After all other systems of the schedule and their commands.
    AfterAll,
}

/// The system that a type stands for, at an edge.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SystemOf(TypeId, Edge);

/// Adds the system that `key` stands for at an edge of a schedule, unless the schedule already has it there.
///
/// Systems at the same edge run in any order.
pub(super) fn add_at<M>(
    edge: Edge,
    schedule: &mut Schedule,
    key: TypeId,
    system: impl IntoScheduleConfigs<ScheduleSystem, M>,
) {
    let set = SystemOf(key, edge).intern();
    if schedule.graph().system_sets.contains(set) {
        return;
    }
    schedule.add_build_pass(KeepEdges);
    let system = system.in_set(set).ambiguous_with_all();
    match edge {
        Edge::BeforeAll => schedule.add_systems(system.in_set(edge)),
        // Commands may still read the data that is about to be freed.
        Edge::AfterAll => {
            let last = (ApplyDeferred.ambiguous_with_all(), system).chain();
            schedule.add_systems(last.in_set(edge))
        }
    };
}

/// Orders the systems of the two edges before and after all others whenever a schedule is built.
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
        for (edge, outside) in [
            (Edge::BeforeAll, Direction::Incoming),
            (Edge::AfterAll, Direction::Outgoing),
        ] {
            let Some(set) = graph.system_sets.get_key(edge.intern()) else {
                continue;
            };
            let members = graph.hierarchy().graph();
            let members = members.neighbors_directed(NodeId::Set(set), Direction::Outgoing);
            let members: Vec<_> = members.filter_map(|node| node.as_system()).collect();
            // Systems explicitly ordered outside the edge, and the systems of the edge itself.
            let outside = reach(dependencies.graph(), &members, outside);
            for &system in all.iter().filter(|it| !outside.contains(it)) {
                for &member in &members {
                    match edge {
                        Edge::BeforeAll => dependencies.add_edge(member, system),
                        Edge::AfterAll => dependencies.add_edge(system, member),
                    };
                }
            }
        }
        Ok(())
    }
}

/// Returns `from` and all systems that can be reached from it.
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
