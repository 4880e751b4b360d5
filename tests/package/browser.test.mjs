// The package in browsers as it is, without a bundler, under the strictest policy that still lets WebAssembly run.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { browsers } from '../page/browsers.mjs';

const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
const WITH_DATA = POLICY.replace("'self'", "'self' data:");
const NO_WASM = "default-src 'none'; script-src 'self'; connect-src 'self'";
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };
const stories = new URL('../../../shared/models/', import.meta.url);
const HALF = [-1.695592537, 0.1375517383, 2.7886816, 3.975982036, -4.808842475, 6.323059348, 7.086836737, 8.011963982];
const close = (a, b) => b.forEach((x, i) => assert.ok(Math.abs(a[i] - x) < 1e-6, `[${i}]: ${a[i]}`));

// Scripts of the pages; each ends by putting its result into the title.
const ROTATE = `lw.encoding({ name: 'rope', pairing: 'half' }, { headDim: 8 }).rotate([1, 2, 3, 4, 5, 6, 7, 8], 3)`;
const script = (body) => `import { experiment, load } from '/dist/index.js';
  import { load as remote } from '/dist/remote.js';
  const work = async () => { ${body} };
  work().catch((error) => ({ name: error.name, code: error.code, message: error.message })).then((result) => { document.title = JSON.stringify(result); });`;
const SCRIPTS = {
  rotate: script(`const lw = await load(); return [...${ROTATE}];`),
  message: script(`const lw = await load(); lw.encoding('there is no encoding of this name');`),
  html: script(`await load({ wasmUrl: '/page.html?x' });`),
  missing: script(`await load({ wasmUrl: '/missing.wasm' });`),
  grow: script(`const lw = await load(); const e = lw.encoding('sinusoidal', { width: 512, heads: 1 }); const t = e.table(4), first = t[1];
    e.table(30000); return [t.length, t[1] === first, e.table(4)[1] === first];`),
  worker: script(`const lw = await remote(); const model = await lw.model({ vocabulary: 9, width: 8, layers: 1, heads: 1 }); const made = [];
    for await (const token of model.generate([1], { tokens: 5 })) made.push(token); lw.terminate(); return made.length;`),
  experiment: script(`const r = await experiment({ encodings: ['nope', 'rope'], task: 'copy', steps: 8, trainLength: 8, batch: 2, testTokens: 64, workers: 2,
    model: { width: 16, layers: 1, heads: 2 } }).finished; return r.encodings.map((e) => e.tests.length);`),
  threads: script(`const tokens = Int32Array.from({ length: 4 * 65 }, (_, i) => i * 7919 % 256);
    const trained = async (lw) => { const model = await lw.model({ width: 64, layers: 1, heads: 4 }), trainer = await model.trainer(), losses = [];
      for (let i = 0; i < 3; i++) losses.push((await trainer.step(tokens, { batch: 4, length: 64 })).loss);
      return losses; };
    const all = [await load({ variant: 'simd' }), await load({ variant: 'simd', threads: 2 }), await remote({ variant: 'simd', threads: 2 })];
    const threads = all.map((lw) => lw.threads), losses = []; for (const lw of all) losses.push(await trained(lw));
    all[1].dispose(); all[2].terminate();
    return { isolated: crossOriginIsolated && typeof SharedArrayBuffer === 'function', threads, losses };`),
  text: script(`await (await remote()).register('export default { name: "mine", bias: (h, d) => -d }'); return 'registered';`),
  own: script(`const r = await experiment({ encodings: ['mine', 'alibi'], register: [new URL('/mine.js', location.href)], task: 'copy', steps: 8, trainLength: 8, batch: 2,
    testTokens: 64, workers: 1, model: { width: 16, layers: 1, heads: 1 } }).finished; return r.encodings.map((e) => e.tests.map((t) => t.loss.mean));`),
  service: script(`if (!navigator.serviceWorker) return null;
    let registered; try { registered = await navigator.serviceWorker.register('/service.js', { type: 'module' }); } catch { return null; }
    return await new Promise((resolve) => { navigator.serviceWorker.onmessage = (event) => resolve(event.data);
      navigator.serviceWorker.ready.then((r) => r.active.postMessage('go')); });`),
  stories: script(`const lw = await load(); const get = async (name) => (await fetch('/models/' + name)).arrayBuffer();
    const model = lw.loadModel(new Uint8Array(await get('stories260K.bin')));
    const { cases, long_text } = JSON.parse(new TextDecoder().decode(await get('stories260K.expected.json')));
    let same = 0, furthest = 0;
    for (const { prompt_tokens, greedy_tokens, logits } of cases) {
      let i = 0;
      for await (const token of model.generate(prompt_tokens, { tokens: greedy_tokens.length, temperature: 0 })) if (token === greedy_tokens[i++]) same++;
      const all = model.logits([...prompt_tokens, ...greedy_tokens]);
      for (const [at, row] of Object.entries(logits)) row.forEach((x, j) => { furthest = Math.max(furthest, Math.abs(all[at * 512 + j] - x)); });
    }
    const losses = model.losses(long_text.tokens);
    const windows = long_text.nll_by_128.map((wanted, i) => { const w = losses.subarray(i * 128, (i + 1) * 128); return Math.abs(w.reduce((a, b) => a + b) / w.length - wanted); });
    return { same: same === cases.reduce((n, c) => n + c.greedy_tokens.length, 0), furthest, window: Math.max(...windows) };`),
};
const MINE = `export default { name: 'mine', bias: (head, distance) => -distance / 256 };`; // ALiBi of one head
const SERVICE = `import { load } from '/dist/index.js';
  import { load as remote } from '/dist/remote.js';
  addEventListener('install', () => skipWaiting());
  addEventListener('message', async (event) => {
    const lw = await load({ wasmBinary: await (await fetch('/dist/lengthwise.wasm')).arrayBuffer() });
    const fault = await remote().catch((error) => error.message);
    event.source.postMessage({ rotated: [...${ROTATE}], fault });
  });`;

let server, base, elsewhere, far;
before(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    // A worker has the policy of its own script, which the page asked for.
    const asks = (name) => [request.url, request.headers.referer ?? ''].some((url) => new URL(url, 'http://x').searchParams.has(name));
    const send = (type, body) => response.writeHead(200, {
      'content-type': type, 'content-security-policy': asks('bare') ? NO_WASM : asks('data') ? WITH_DATA : POLICY,
      // Workers of an isolated page must say so too; to others it makes no difference.
      'access-control-allow-origin': '*',
      ...(pathname !== '/page.html' || asks('isolated') ? { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' } : {}),
    }).end(body);
    if (pathname === '/page.html') return send('text/html', `<!doctype html><script type="module" src="/script.js?${searchParams}"></script>`);
    if (pathname === '/script.js') return send('text/javascript', SCRIPTS[searchParams.get('run')]);
    if (pathname === '/mine.js') return send('text/javascript', MINE);
    if (pathname === '/service.js') return send('text/javascript', SERVICE);
    const file = pathname.startsWith('/models/') ? new URL(pathname.slice(8), stories) : new URL(`../..${pathname}`, import.meta.url);
    if (/^\/(dist|models)\/[\w.-]+$/.test(pathname) && existsSync(file)) return send(TYPES[extname(pathname)] ?? 'application/octet-stream', readFileSync(file));
    response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${server.address().port}/page.html`;
  // Pages of another origin, which take the package from the first as from a CDN.
  elsewhere = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x'), isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
    const run = searchParams.get('run'), page = pathname === '/page.html';
    response.writeHead(200, { 'content-type': page ? 'text/html' : 'text/javascript', ...(searchParams.has('isolated') ? isolated : {}) });
    response.end(page ? `<!doctype html><script type="module" src="/script.js?${searchParams}"></script>` : SCRIPTS[run]?.replaceAll("'/dist/", `'${new URL('/dist/', base)}`));
  });
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  far = `http://127.0.0.1:${elsewhere.address().port}/page.html`;
});
after(() => { server.close(); elsewhere.close(); });

for (const browser of browsers()) {
  test(browser.name, { skip: browser.skip }, async (t) => {
    const page = await browser.open(`${base}?run=rotate`);
    const result = async (query, from = base) => {
      await page.goto(`${from}?run=${query}`);
      await page.waitFor(() => document.title !== '', { timeout: 120_000 });
      return JSON.parse(await page.evaluate(() => document.title));
    };
    try {
      await t.test('loads and encodes under the policy (opendocument-app/OpenDocument.core#709)', async () => close(await result('rotate'), HALF));
      await t.test("a policy without 'wasm-unsafe-eval' is named", async () => {
        const { code, message } = await result('rotate&bare');
        assert.equal(code, 'csp', message);
        assert.match(message, /wasm-unsafe-eval/);
      });
      await t.test('long messages arrive (emscripten-core/emscripten#27241)', async () => {
        const { name, message } = await result('message');
        assert.equal(name, 'RangeError');
        assert.match(message, /there is no encoding of this name/);
      });
      await t.test('a page instead of the file (huggingface/transformers.js#366)', async () => assert.equal((await result('html')).code, 'html'));
      await t.test('a missing file', async () => assert.equal((await result('missing')).code, 'http'));
      await t.test('results outlive growing memory', async () => assert.deepEqual(await result('grow'), [2048, true, true]));
      await t.test('in a worker', async () => assert.equal(await result('worker'), 5));
      await t.test('an experiment in workers', async () => assert.deepEqual(await result('experiment'), [4, 4]));
      await t.test('an experiment with an encoding of your own', async () => {
        const [own, alibi] = await result('own');
        assert.equal(own.length, 4);
        assert.deepEqual(own, alibi);
      });
      await t.test('several threads in an isolated page, one elsewhere, with the same bits', async () => {
        for (const query of ['threads&isolated', 'threads']) {
          const found = await result(query);
          if (browser.name !== 'webkit') assert.equal(found.isolated, query.endsWith('isolated')); // WebKitGTK has no SharedArrayBuffer yet
          assert.deepEqual(found.threads, found.isolated ? [1, 2, 2] : [1, 1, 1], JSON.stringify(found));
          for (const losses of found.losses) assert.deepEqual(losses, found.losses[0]);
        }
      });
      await t.test('from another origin, workers and threads too', async () => {
        assert.equal(await result('worker', far), 5);
        assert.deepEqual(await result('experiment', far), [4, 4]);
        const found = await result('threads&isolated', far);
        assert.deepEqual(found.threads, found.isolated ? [1, 2, 2] : [1, 1, 1], JSON.stringify(found));
      });
      await t.test('an encoding as text needs data: in the policy', async () => {
        const { name, message } = await result('text');
        assert.equal(name, 'EncodingError', message);
        assert.match(message, /script-src: data:/);
        assert.equal(await result('text&data'), 'registered');
      });
      await t.test('in a service worker (microsoft/onnxruntime#20876)', async (own) => {
        const found = await result('service');
        if (found === null) return own.skip('this browser has no module service workers');
        close(found.rotated, HALF);
        assert.match(found.fault, /there are no workers here, as in a service worker; allowed: /);
      });
      await t.test('stories260K', { skip: existsSync(new URL('stories260K.bin', stories)) ? false : '../shared/models has no stories260K.bin' }, async () => {
        const { same, furthest, window } = await result('stories');
        assert.ok(same && furthest <= 2e-4 && window <= 2e-3, JSON.stringify({ same, furthest, window }));
      });
    } finally {
      await page.close();
    }
  });
}
