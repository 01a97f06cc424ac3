// Chunks, from the corners of their rectangles; and walkers, a box for each instance.

struct View {
    clip_from_world: mat4x4<f32>,
    eye: vec4<f32>,
}
@group(0) @binding(0) var<uniform> view: View;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
    @location(1) distance: f32,
}

fn project(place: vec3<f32>, color: vec3<f32>) -> Corner {
    var position = view.clip_from_world * vec4(place, 1.0);
    // Bevy's depth is 1 near and 0 far away.
    position.z = position.w - position.z;
    return Corner(position, color, distance(place, view.eye.xyz));
}

// How bright a side is: +x, +y, +z, -x, -y, -z.
fn light(face: u32) -> f32 {
    var lights = array(0.75, 1.0, 0.65, 0.6, 0.35, 0.5);
    return lights[face];
}

@vertex
fn chunk(@location(0) corner: vec4<f32>, @location(1) origin: vec4<f32>) -> Corner {
    var colors = array(
        vec3(0.8, 0.2, 0.8),
        vec3(0.22, 0.42, 0.10), // grass
        vec3(0.33, 0.21, 0.11), // earth
        vec3(0.30, 0.29, 0.27), // rock
        vec3(0.85, 0.88, 0.86), // snow
        vec3(0.62, 0.55, 0.32), // sand
    );
    let code = u32(corner.w);
    // Chunks that have just come into view are lit.
    let color = mix(colors[code / 8u], vec3(1.0, 0.30, 0.02), 0.8 * origin.w);
    return project(corner.xyz + origin.xyz, color * light(code % 8u));
}

@vertex
fn walker(@builtin(vertex_index) index: u32, @location(0) instance: vec4<f32>) -> Corner {
    // Two triangles for each side, counter-clockwise from outside.
    var corners = array(vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(1.0, 1.0), vec2(0.0, 0.0), vec2(1.0, 1.0), vec2(0.0, 1.0));
    let face = index / 6u;
    var corner = corners[index % 6u];
    if face >= 3u {
        corner = corner.yx;
    }
    let along = select(1.0, 0.0, face >= 3u);
    var place = vec3(along, corner.x, corner.y);
    if face % 3u == 1u {
        place = vec3(corner.y, along, corner.x);
    } else if face % 3u == 2u {
        place = vec3(corner.x, corner.y, along);
    }
    let hue = fract(instance.w * 0.618034) * 6.2831853;
    let color = vec3(0.5) + 0.45 * cos(vec3(hue, hue + 2.1, hue + 4.2));
    let size = vec3(0.8, 1.8, 0.8);
    return project(instance.xyz + (place - vec3(0.5, 0.0, 0.5)) * size, color * light(face));
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4<f32> {
    let sky = vec3(0.27, 0.48, 0.75);
    let fog = smoothstep(120.0, 260.0, corner.distance);
    return vec4(mix(corner.color, sky, fog), 1.0);
}
