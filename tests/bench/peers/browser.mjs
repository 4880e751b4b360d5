// Serves page.mjs and opens it in the browsers that there are.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { browsers } from '../../page/browsers.mjs';

const root = new URL('../../../', import.meta.url);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const types = { js: 'text/javascript', mjs: 'text/javascript', wasm: 'application/wasm' };

/** One file of everything, so that the page finds what the peers import by name. */
async function bundle() {
  const { outputFiles } = await build({ entryPoints: [here('page.mjs')], bundle: true, write: false, format: 'esm', platform: 'browser', target: 'es2022',
    mainFields: ['module', 'browser', 'main'], logLevel: 'silent', external: ['node:*', 'fs', 'path', 'url', 'worker_threads', 'perf_hooks', 'module', 'os'] });
  return outputFiles[0].contents;
}

async function serve() {
  const script = await bundle();
  const file = (url) => {
    if (/^\/(dist|build\/wasm(-relaxed)?)\/[\w.-]+$/.test(url)) return new URL(`.${url}`, root);
    if (/^\/peers\/[\w@./-]+$/.test(url) && !url.includes('..')) return new URL(`node_modules/${url.slice('/peers/'.length)}`, import.meta.url);
  };
  const server = createServer(({ url }, response) => {
    if (url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title></title><script type="module" src="/page.js"></script>');
    if (url === '/page.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    try {
      const body = readFileSync(file(url));
      response.writeHead(200, { 'content-type': types[url.split('.').pop()] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/**
 * Runs the rows in every browser, Chromium and Firefox.
 * @param tell (a line for the reader) @param onRow (browser, row result) @returns [{ engine, contenders, rows }]
 */
export async function inBrowsers({ rows, chosen, budget, only = ['chromium', 'firefox'] }, { onProgress, tell, onRow }) {
  const server = await serve();
  const results = [];
  try {
    for (const browser of browsers().filter(({ name }) => only.includes(name))) {
      if (browser.skip) { tell(`${browser.name}: ${browser.skip}`); continue; }
      const page = await browser.open(`http://127.0.0.1:${server.address().port}/`);
      try {
        await page.waitFor(() => document.title === 'ready', { timeout: 60_000 });
        const contenders = await page.evaluate((names) => globalThis.bench.load(names), chosen ?? null);
        for (const { name, fault } of contenders) if (fault) tell(`${browser.name}: ${name} ${fault}`);
        const measured = [];
        for (const row of rows) {
          onProgress(`${browser.name}: ${row.id}`);
          measured.push({ ...await page.evaluate((id, b) => globalThis.bench.row(id, b), row.id, budget), ...(row.beside && { beside: row.beside }) });
          onRow(browser.name, measured.at(-1));
        }
        results.push({ engine: `${browser.name} ${browser.version}`, clock: 'wall', contenders, rows: measured });
      } catch (error) { // such as a page that ran out of memory
        tell(`${browser.name}: ${error.message}`);
      } finally {
        await page.close().catch(() => {});
      }
    }
  } finally {
    server.close();
  }
  return results;
}
