// Opens the page of voxel_window in a browser, and checks it: node page.mjs FOLDER PICTURE
// BROWSER is the browser's command, PUPPETEER a folder in which npm has installed puppeteer-core.
import { strict as assert } from "node:assert";
import { createReadStream, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [folder, picture] = process.argv.slice(2);
const puppeteer = createRequire(join(process.env.PUPPETEER, "package.json"))("puppeteer-core");

// A world that is drawn by one thread of the processor needs its time, and a busy machine more.
const PATIENCE_MS = 300_000;

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".gz": "application/gzip" };

// Serves the files of the folder to this machine alone.
function serve() {
  const server = createServer((request, response) => {
    const file = join(folder, basename(new URL(request.url, "http://localhost").pathname) || "index.html");
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)], "content-length": size });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// Rounds as Rust does, a half to the even neighbour; `toFixed` rounds it up. Bytes divided by a power of two are exact.
function rounded(amount, digits) {
  const scaled = amount * 10 ** digits;
  const below = Math.floor(scaled);
  const nearest = scaled - below === 0.5 ? below + (below % 2) : Math.round(scaled);
  return (nearest / 10 ** digits).toFixed(digits);
}

// The same words for sizes as the overlay has.
function inWords(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let amount = bytes / 1024;
  const units = ["KiB", "MiB", "GiB"];
  while (amount >= 1023.5) {
    amount /= 1024;
    units.shift();
  }
  return `${rounded(amount, amount < 9.95 ? 1 : 0)} ${units[0]}`;
}

// What the page has written down: the texts of the overlay by their names, and exact bytes.
class Figures {
  constructor(text) {
    this.lines = text.trim().split("\n").map((line) => {
      const end = line.indexOf(": ");
      return [line.slice(0, end), line.slice(end + 2)];
    });
  }

  get(name) {
    const found = this.lines.filter(([key]) => key === name);
    assert(found.length > 0, `the page shows no "${name}"`);
    return found.map(([, text]) => text).join("\n");
  }

  bytes(name) {
    const text = this.get(`bytes/${name}`);
    assert.match(text, /^\d+$/, `"${name}" is no number of bytes`);
    return Number(text);
  }

  frame() {
    return Number(/frame (\d+)/.exec(this.get("frame_arena/period"))[1]);
  }

  isUnfolded() {
    return this.lines.some(([key]) => key === "frame_arena/workers/sum");
  }

  check() {
    const prefixes = this.lines.flatMap(([key]) => /^bytes\/(.*)\/used$/.exec(key)?.[1] ?? []);
    assert(prefixes.length >= 2, `arenas of the frame and of the step were expected: ${prefixes}`);
    for (const prefix of prefixes) {
      const [used, peak, reserved] = ["used", "peak", "reserved"].map((word) => {
        const bytes = this.bytes(`${prefix}/${word}`);
        assert.equal(this.get(`${prefix}/${word}`), `${word} ${inWords(bytes)}`, `of ${bytes} bytes`);
        return bytes;
      });
      assert(used <= peak && peak <= reserved, `${prefix}: used ${used}, peak ${peak}, reserved ${reserved}`);
      const workers = this.lines.filter(([key]) => key.startsWith(`bytes/${prefix}/workers/`));
      const sum = workers.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
      assert.equal(sum, peak, `${prefix}: the workers' peaks are ${sum} bytes, and the sum says ${peak}`);
    }
    // The workers are drawn where the overlay is unfolded.
    if (this.isUnfolded()) {
      const sum = `sum ${inWords(this.bytes("frame_arena/peak"))}`;
      assert.equal(this.get("frame_arena/workers/sum"), sum, "the overlay's sum is another one");
    }
    return this;
  }
}

async function read(page) {
  return page.$eval("#figures", (element) => element.textContent);
}

// Waits until the figures are as they should be; all that are seen on the way are checked, too.
async function until(page, what, isTrue) {
  const start = Date.now();
  let text = "";
  while (Date.now() - start < PATIENCE_MS) {
    assert.deepEqual(problems, [], "the page is in trouble");
    text = await read(page);
    if (text) {
      const figures = new Figures(text).check();
      if (isTrue(figures)) {
        console.log(`${what}: after ${((Date.now() - start) / 1000).toFixed(1)} s, in frame ${figures.frame()}`);
        return figures;
      }
    }
    await sleep(50);
  }
  assert.fail(`not seen within ${PATIENCE_MS / 1000} s: ${what}; the page shows:\n${text}`);
}

async function someFramesLater(page) {
  const first = new Figures(await read(page)).frame();
  return until(page, "some frames", (figures) => figures.frame() >= first + 5);
}

// Presses the keys of the help, and looks at what they change.
async function pressKeys(page) {
  const status = (figures) => figures.get("status");
  await page.keyboard.press("1");
  await until(page, "1 plays the heap, and the arenas are empty", (figures) =>
    status(figures).includes("): heap,") && figures.bytes("frame_arena/used") === 0);
  await page.keyboard.press("4");
  await until(page, "4 plays the arenas", (figures) =>
    status(figures).includes("): arena,") && figures.bytes("frame_arena/used") > 0);

  const walkers = (figures) => Number(/(\d+) walkers/.exec(status(figures))[1]);
  const before = walkers(new Figures(await read(page)));
  await page.keyboard.press("Equal");
  await until(page, "+ brings walkers", (figures) => walkers(figures) === before + 1000);
  await page.keyboard.press("Minus");
  await until(page, "- takes them away", (figures) => walkers(figures) === before);

  await page.keyboard.down("ArrowLeft");
  await someFramesLater(page);
  await page.keyboard.up("ArrowLeft");
  const away = (await someFramesLater(page)).get("eye");
  assert.equal((await someFramesLater(page)).get("eye"), away, "the camera is still on its path");
  await page.keyboard.down("KeyW");
  await until(page, "W flies", (figures) => figures.get("eye") !== away);
  await page.keyboard.up("KeyW");
  const place = (await someFramesLater(page)).get("eye");
  await page.keyboard.press("KeyP");
  await until(page, "P goes back to the path", (figures) => figures.get("eye") !== place);
}

// Whether much of the lower half of a picture is not the sky: the ground is green and brown.
async function showsGround(page, png) {
  const share = await page.evaluate(async (url) => {
    const image = await createImageBitmap(await (await fetch(url)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const top = image.height >> 1;
    const { data } = context.getImageData(0, top, image.width, image.height - top);
    let ground = 0;
    for (let at = 0; at < data.length; at += 4) ground += data[at + 1] > data[at + 2] ? 1 : 0;
    return ground / (data.length / 4);
  }, `data:image/png;base64,${Buffer.from(png).toString("base64")}`);
  console.log(`ground: ${Math.round(share * 100)} % of the lower half`);
  return share > 0.25;
}

const problems = [];
const server = await serve();
const browser = await puppeteer.launch({
  executablePath: process.env.BROWSER,
  protocolTimeout: PATIENCE_MS,
  defaultViewport: { width: 960, height: 540 },
  args: [
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-dev-shm-usage",
    ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
  ],
});
try {
  const page = await browser.newPage();
  page.on("console", (message) => {
    console.log(`  console: ${message.text().slice(0, 300)}`);
    if (message.type() === "error" || /panicked/.test(message.text())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await until(page, "the world is there", () => true);
  const figures = await until(page, "it moves, and its memory is in the arenas", (figures) =>
    figures.frame() >= 60 && figures.bytes("frame_arena/used") > 0);
  // A click on the title, at the top right, unfolds the overlay.
  const { width } = await page.evaluate(() => ({ width: innerWidth }));
  await page.mouse.click(width - 60, 18, { delay: 300 });
  await until(page, "the overlay is unfolded", (figures) => figures.isUnfolded());
  const png = await page.screenshot();
  writeFileSync(picture, png);
  assert(await showsGround(page, png), `no ground in ${picture}`);
  await pressKeys(page);
  assert.deepEqual(problems, [], "the page is in trouble");
  const shown = ["used", "peak", "reserved"].map((word) => figures.get(`frame_arena/${word}`));
  console.log(`page: ok; the overlay showed ${shown.join(", ")}; picture: ${picture}`);
} finally {
  await browser.close();
  server.close();
}
