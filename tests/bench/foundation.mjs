// The figures of the foundation: time to ready, size on the wire, training steps a second.
//   node tests/bench/foundation.mjs [--browsers]
// Build first (npm run build). One thread; best and median of several rounds.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { browsers } from '../page/browsers.mjs';
import { stepRates } from './steps.js';

const dist = new URL('../../dist/', import.meta.url);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

// A fresh process each time: a second load in the same one finds everything warm.
for (const options of ['', '{ inferenceOnly: true }']) {
  const script = `const t = performance.now(); const { load } = await import('${new URL('index.js', dist)}'); await load(${options}); console.log(performance.now() - t)`;
  const ready = Array.from({ length: 9 }, () => Number(execFileSync(process.execPath, ['--input-type=module', '-e', script])));
  console.log(`import to ready in Node, load(${options}): median ${median(ready).toFixed(1)} ms, best ${Math.min(...ready).toFixed(1)} ms`);
}

const kilobytes = (bytes) => (brotliCompressSync(bytes).length / 1024).toFixed(1);
const bundle = buildSync({ stdin: { contents: `import { load } from './index.js'; globalThis.load = load;`, resolveDir: fileURLToPath(dist) },
  bundle: true, minify: true, format: 'esm', write: false }).outputFiles[0].contents;
console.log(`what a page needs of the JavaScript, bundled: ${kilobytes(bundle)} KB brotli`);
for (const name of ['lengthwise.wasm', 'lengthwise-relaxed.wasm', 'lengthwise-inference.wasm', 'lengthwise-inference-relaxed.wasm', 'texts.mjs']) console.log(`${name}: ${kilobytes(readFileSync(new URL(name, dist)))} KB brotli`);

const { load } = await import(new URL('index.js', dist));
for (const line of stepRates(await load())) console.log(line);

if (process.argv.includes('--browsers')) {
  const script = `import { load } from '/dist/index.js'; import { stepRates } from '/tests/bench/steps.js';
    const inferenceOnly = location.search === '?inference', started = performance.now(), lw = await load({ inferenceOnly }), time = performance.now() - started;
    document.title = ['load(' + (inferenceOnly ? '{ inferenceOnly: true }' : '') + ') to ready: ' + time.toFixed(1) + ' ms', ...(inferenceOnly ? [] : stepRates(lw))].join(' | ');`;
  const types = { js: 'text/javascript', mjs: 'text/javascript', wasm: 'application/wasm' };
  const server = createServer(({ url }, response) => {
    if (url.split('?')[0] === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><script type="module" src="/script.js"></script>');
    if (url === '/script.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    if (!/^\/(dist|tests\/bench)\/[\w.-]+$/.test(url)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[url.split('.').pop()] }).end(readFileSync(new URL(`../..${url}`, import.meta.url)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  for (const browser of browsers()) {
    if (browser.skip) { console.log(`${browser.name}: ${browser.skip}`); continue; }
    console.log(browser.name);
    for (const query of ['?inference', '']) { // a browser each, which has compiled nothing yet
      const page = await browser.open(`http://127.0.0.1:${server.address().port}/${query}`);
      await page.waitFor(() => document.title !== '', { timeout: 300_000 });
      console.log((await page.evaluate(() => document.title)).replaceAll(' | ', '\n'));
      await page.close();
    }
  }
  server.close();
}
