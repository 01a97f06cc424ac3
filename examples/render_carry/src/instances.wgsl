// A square for each instance, in the corner order of a triangle strip.

struct Instance {
    @location(0) center_and_size: vec4<f32>,
    @location(1) color: vec4<f32>,
}

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, instance: Instance) -> Corner {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    let position = instance.center_and_size.xy + corner * instance.center_and_size.zw;
    return Corner(vec4<f32>(position, 0.0, 1.0), instance.color);
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4<f32> {
    return corner.color;
}
