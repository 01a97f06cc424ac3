// Runs the app of tests/web in node: node web.mjs web.wasm
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]));
const { run, memory } = instance.exports;
const frames = 1000;
const sumOfSquares = 328350;
const sum = Number(run(frames));
const mebibytes = memory.buffer.byteLength / (1 << 20);
console.log(`${frames} frames of an app for wasm32: sum ${sum}, ${mebibytes} MiB of memory`);
if (sum !== (frames - 1) * sumOfSquares) throw new Error("another sum was expected");
if (mebibytes > 8) throw new Error("that is more memory than a page should take");
