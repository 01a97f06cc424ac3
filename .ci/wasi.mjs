// Runs a program for WASI in node: node wasi.mjs PROGRAM ARGUMENTS...
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens: { ".": "." } });
const program = await WebAssembly.compile(await readFile(args[0]));
// What the C library lacks are threads: whoever asks for one is told that there are none.
const NOT_SUPPORTED = 58;
const noThreads = { get: (own, name) => own[name] ?? (() => NOT_SUPPORTED) };
const panic = new WebAssembly.Tag({ parameters: ["i32"] });
const env = new Proxy({ __cpp_exception: panic }, noThreads);
const instance = await WebAssembly.instantiate(program, { ...wasi.getImportObject(), env });
process.exitCode = wasi.start(instance);
