// Workers start and end.  They use objects, buffers outside the heap, zlib and WebAssembly.  Argument: the rounds.
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { createHash } = require("crypto");
const zlib = require("zlib");

// (func (export "f") (param i32) (result i32) local.get 0 local.get 0 i32.mul), as bytes
const SQUARE = new WebAssembly.Module(Buffer.from("0061736d0100000001060160017f017f030201000705010166000" +
    "00a09010700200020006c0b", "hex"));

function work(seed) {
    const hash = createHash("sha256");
    for (let i = 0; i < 20; i++) { // each memory has its own range of addresses, with a guard behind it
        const memory = new WebAssembly.Memory({ initial: 1, maximum: 1000 });
        memory.grow(i);
        new Uint32Array(memory.buffer)[i] = new WebAssembly.Instance(SQUARE).exports.f(seed);
        hash.update(new Uint8Array(memory.buffer).subarray(0, 4 * 32));
    }
    for (let i = 0; i < 150; i++) {
        const rows = Array.from({ length: 400 }, (_, n) => ({ n, text: `row ${n * seed} `.repeat(n % 9) }));
        const text = Buffer.from(JSON.stringify(rows));
        const back = zlib.inflateSync(zlib.deflateSync(text, { level: 1 }));
        if (!back.equals(text)) throw new Error("inflate(deflate(x)) is not x");
        hash.update(back).update(Buffer.alloc(1 << i % 20, seed));
    }
    return hash.digest("hex");
}

async function main(rounds) {
    const hash = createHash("sha256");
    for (let round = 0; round < rounds; round++) {
        const workers = [1, 2, 3, 4].map((n) => new Promise((done, failed) => {
            const worker = new Worker(__filename, { workerData: 4 * round + n });
            worker.on("message", done).on("error", failed);
        }));
        for (const said of await Promise.all(workers)) hash.update(said);
    }
    console.log(hash.digest("hex"));
    process.stdin.resume().on("end", () => process.exit(0));
}

if (isMainThread) main(Number(process.argv[2]));
else parentPort.postMessage(work(workerData));
