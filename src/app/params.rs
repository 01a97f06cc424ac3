//! `Scratch` as a system parameter.
#![expect(unsafe_code, reason = "`SystemParam` is an unsafe trait")]

use std::borrow::Cow;

use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{
    ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError,
};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;

use crate::arenas::{FrameArenas, Scratch};
use crate::sites::{self, Site};

const MISSING: &str = "`Scratch` takes its memory from the resource `FrameArenas`, which does not \
                       exist: add `FrameArenaPlugin`";

/// The only resource that the parameter reads.
type Arenas<'w> = Res<'w, FrameArenas>;

// SAFETY: the registered access is that of `Res<FrameArenas>`, and nothing else is accessed.
unsafe impl SystemParam for Scratch<'_> {
    /// The state of the resource, and the name of the system after its first use of scratch.
    type State = (
        <Arenas<'static> as SystemParam>::State,
        Option<&'static str>,
    );
    type Item<'w, 's> = Scratch<'w>;

    fn init_state(world: &mut World) -> Self::State {
        (Arenas::init_state(world), None)
    }

    fn init_access(
        (arenas, _): &Self::State,
        system_meta: &mut SystemMeta,
        system_access: &mut SystemAccess,
        world: &mut World,
    ) {
        Arenas::init_access(arenas, system_meta, system_access, world);
    }

    #[inline]
    unsafe fn get_param<'w>(
        (arenas, name): &mut Self::State,
        system_meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        change_tick: Tick,
    ) -> Result<Scratch<'w>, SystemParamValidationError> {
        // SAFETY: the caller upholds the contract of `Res`: same state, same access.
        let arenas = unsafe { Arenas::get_param(arenas, system_meta, world, change_tick) }
            .map_err(|_| SystemParamValidationError::invalid::<Self>(MISSING))?;
        let site = match sites::IS_ON {
            true => Site::System(name.get_or_insert_with(
                || match system_meta.name().clone().into() {
                    Cow::Borrowed(name) => name,
                    Cow::Owned(name) => sites::lasting(&name),
                },
            )),
            false => Site::Others,
        };
        Ok(arenas.into_inner().scratch_for(site))
    }
}

// SAFETY: `Res` is read-only.
unsafe impl ReadOnlySystemParam for Scratch<'_> {}
