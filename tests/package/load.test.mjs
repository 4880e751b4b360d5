import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { load, LoadError } from '../../dist/index.js';

const wasm = readFileSync(new URL('../../dist/lengthwise.wasm', import.meta.url));
const code = (wanted) => (error) => error instanceof LoadError && error.code === wanted;

let server, base;
before(async () => {
  server = createServer((request, response) => {
    const answers = {
      '/good.wasm': [200, 'application/wasm', wasm],
      '/page.wasm': [200, 'text/html', '\n<!doctype html><title>Home</title>'],
      '/bytes.wasm': [200, 'application/octet-stream', wasm],
      '/cut.wasm': [200, 'application/wasm', wasm.subarray(0, wasm.length / 2)],
    };
    if (request.url.startsWith('/broken')) { // the connection ends in the midst of the file
      response.writeHead(200, { 'content-type': request.url.split('?')[1], 'content-length': wasm.length });
      response.write(wasm.subarray(0, wasm.length / 2), () => response.destroy());
      return;
    }
    const [status, type, body] = answers[request.url] ?? [404, 'text/plain', 'not found'];
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

test('the file beside the module, an address, bytes, an ArrayBuffer, a compiled module', async () => {
  const first = await load();
  const ways = [
    { wasmUrl: `${base}/good.wasm` },
    { wasmUrl: `${base}/bytes.wasm` },
    { wasmUrl: new URL('../../dist/lengthwise.wasm', import.meta.url) },
    { wasmBinary: new Uint8Array(wasm) },
    { wasmBinary: new Uint8Array(wasm).buffer },
    ...[new SharedArrayBuffer(wasm.length), new ArrayBuffer(wasm.length, { maxByteLength: wasm.length })].map((memory) => {
      const wasmBinary = new Uint8Array(memory);
      wasmBinary.set(wasm);
      return { wasmBinary };
    }),
    { wasmBinary: (await load({ variant: 'simd' })).module, variant: 'simd' },
  ];
  for (const way of ways) assert.equal((await load(way)).encodings().length, first.encodings().length);
});

test('objects of another realm, as of a frame or under jsdom', async () => {
  const context = createContext({ wasm, WebAssembly, URL });
  const foreign = runInContext('({ bytes: Uint8Array.from(wasm), buffer: Uint8Array.from(wasm).buffer, floats: Float32Array.of(1, 2), big: BigInt64Array.of(1n), view: new DataView(new ArrayBuffer(8)) })', context);
  assert.ok(!(foreign.bytes instanceof Uint8Array));
  for (const wasmBinary of [foreign.bytes, foreign.buffer]) assert.ok((await load({ wasmBinary })).encodings().length > 0);
  const lw = await load(), model = lw.model({ width: 8, heads: 1, layers: 1 });
  const file = model.save(), moved = runInContext('(file) => Uint8Array.from(file)', context)(file);
  assert.deepEqual(lw.loadModel(moved).logits([1, 2]), model.logits([1, 2]));
  const rope = lw.encoding('rope', { heads: 1, headDim: 2 });
  assert.equal(rope.rotate(foreign.floats, 3, { inPlace: true }), foreign.floats);
  for (const wrong of [foreign.big, foreign.view]) assert.throws(() => rope.rotate(wrong, 0), /^TypeError: x must be an array of numbers/);
});

test('what a server calls WebAssembly is compiled while it comes: only that do browsers keep compiled', async (t) => {
  const streaming = t.mock.method(WebAssembly, 'compileStreaming');
  await load({ wasmUrl: `${base}/bytes.wasm` });
  assert.equal(streaming.mock.callCount(), 0);
  await load({ wasmUrl: `${base}/good.wasm` });
  assert.equal(streaming.mock.callCount(), 1);
});

test('a page instead of the file is called a page (vitejs/vite#15929, huggingface/transformers.js#366)', async () => {
  await assert.rejects(load({ wasmUrl: `${base}/page.wasm` }), (error) => code('html')(error) && /HTML was returned/.test(error.message));
  await assert.rejects(load({ wasmBinary: Buffer.from('<!doctype html>') }), code('html'));
});

test('missing, cut off, foreign, unreachable', async () => {
  await assert.rejects(load({ wasmUrl: `${base}/none.wasm` }), code('http'));
  await assert.rejects(load({ wasmUrl: `${base}/cut.wasm` }), code('invalid'));
  await assert.rejects(load({ wasmBinary: new Uint8Array(100) }), code('invalid'));
  await assert.rejects(load({ wasmBinary: new Uint8Array(0) }), code('invalid'));
  await assert.rejects(load({ wasmUrl: 'http://127.0.0.1:1/x.wasm' }), code('network'));
  for (const type of ['application/wasm', 'text/plain']) await assert.rejects(load({ wasmUrl: `${base}/broken.wasm?${type}` }), code('network'));
  await assert.rejects(load({ wasmUrl: pathToFileURL('/nowhere/x.wasm') }), code('network'));
  await assert.rejects(load({ wasmBinary: 'text' }), TypeError);
  await assert.rejects(load({ wasmURL: 'x' }), TypeError);
  await assert.rejects(load({ variant: 'fast' }), RangeError);
  assert.ok((await load()).encodings().length > 0, 'and then it works');
});

test('a policy against WebAssembly is named', async (t) => {
  t.mock.method(WebAssembly, 'compile', () => Promise.reject(new WebAssembly.CompileError(
    "WebAssembly.compile(): Refused to compile or instantiate WebAssembly module because 'unsafe-eval' is not an allowed source of script in the following Content Security Policy directive")));
  await assert.rejects(load(), (error) => code('csp')(error) && /wasm-unsafe-eval/.test(error.message));
});

test('an engine without SIMD is told so', async (t) => {
  t.mock.method(WebAssembly, 'validate', () => false);
  await assert.rejects(load(), code('simd'));
});

test('memory that cannot be had is an OutOfMemoryError (godotengine/godot#70621)', async (t) => {
  t.mock.method(WebAssembly, 'instantiate', () => Promise.reject(new RangeError('WebAssembly.Memory(): could not allocate memory')));
  await assert.rejects(load(), { name: 'OutOfMemoryError' });
});

test('what is loaded and dropped is gone (godotengine/godot#70621)', () => {
  const script = `
    import { load } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    const loaded = [];
    for (let i = 0; i < 40; i++) {
      const lw = await load();
      lw.model({ width: 16, layers: 1 }).trainer();
      try { lw.encoding('rope', { headDim: 7 }); } catch {}
      loaded.push(new WeakRef(lw));
      await new Promise(setImmediate);
      gc();
    }
    console.log(loaded.filter((each) => each.deref()).length);`;
  const alive = Number(execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], { encoding: 'utf8' }));
  assert.ok(alive <= 3, `${alive} of 40 are still there`);
});

test('works where code may not be made from strings (opendocument-app/OpenDocument.core#709)', () => {
  const script = `
    import { load } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    const lw = await load();
    console.log(lw.encoding('rope', { headDim: 8 }).rotate([1, 2, 3, 4, 5, 6, 7, 8], 3).join());`;
  const output = execFileSync(process.execPath, ['--disallow-code-generation-from-strings', '--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.ok(Math.abs(output.split(',')[0] - -1.272232513) < 1e-6);
});

test('importing does nothing that needs WebAssembly', () => {
  const script = `
    delete globalThis.WebAssembly;
    const module = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
    await module.load().catch((error) => console.log(error.code));`;
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).trim(), 'simd');
});

test('ready within 50 ms', async () => {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    await load();
    times.push(performance.now() - start);
  }
  assert.ok(Math.min(...times) < 50, `${Math.min(...times)} ms`);
});

// Node 20 has relaxed SIMD behind a flag, later ones without.
const flags = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];

test('the relaxed binary is chosen where the engine has it, and computes the same', () => {
  const script = `
    import { load } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    import { load as remote } from ${JSON.stringify(new URL('../../dist/remote.js', import.meta.url).href)};
    const tokens = [1, 2, 3, 4, 5, 6, 7, 8];
    const logits = async (lw) => [...(await (await lw.model({ width: 32, layers: 2, heads: 2 }, { seed: 1 })).logits(tokens))];
    const relaxed = await load();
    const away = await remote();
    console.log(JSON.stringify([relaxed.variant, await logits(relaxed), await logits(await load({ variant: 'simd' })), await logits(away)]));
    away.terminate();`;
  const [variant, a, b, c] = JSON.parse(execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script], { encoding: 'utf8' }));
  assert.equal(variant, 'relaxed');
  a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) < 1e-4, `[${i}]: ${x}, ${b[i]}`));
  assert.deepEqual(c, a);
});

test('what fails in a worker keeps its code', async () => {
  const { load: remote } = await import('../../dist/remote.js');
  await assert.rejects(remote({ wasmBinary: wasm.subarray(0, wasm.length / 2) }), code('invalid'));
});
