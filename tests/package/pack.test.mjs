// The tarball that users get, installed in an empty folder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

const project = fileURLToPath(new URL('../../', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'lengthwise-pack-'));
const installed = join(home, 'node_modules/lengthwise');
const node = (script) => execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: home, encoding: 'utf8' }).trim();

before(() => {
  const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], { cwd: project, encoding: 'utf8' }));
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['xzf', join(home, filename), '-C', installed, '--strip-components=1']);
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
});
after(() => rmSync(home, { recursive: true }));

test('every exported path exists and resolves (tree-sitter/tree-sitter#4576)', () => {
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const files = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)));
  for (const file of files) assert.ok(existsSync(join(installed, file)), file);
  const names = Object.keys(exports).map((key) => key.replace('.', 'lengthwise'));
  const found = JSON.parse(node(`console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => import.meta.resolve(name))))`));
  for (const url of found) assert.ok(existsSync(fileURLToPath(url)), url);
  for (const [entry] of Object.values(exports).filter((e) => typeof e === 'object').map((e) => Object.keys(e))) assert.equal(entry, 'types');
  assert.ok(execFileSync(process.execPath, ['-p', "require.resolve('lengthwise/lengthwise.wasm')"], { cwd: home, encoding: 'utf8' }).trim().endsWith('.wasm'));
});

test('works from the tarball, without any dependency (harfbuzz/harfbuzzjs#128)', () => {
  const output = node(`
    import { load } from 'lengthwise';
    const lw = await load();
    console.log(lw.encoding({ name: 'rope', pairing: 'half' }, { headDim: 8 }).rotate([1, 2, 3, 4, 5, 6, 7, 8], 3).join());`);
  assert.ok(Math.abs(output.split(',')[0] - -1.695592537) < 1e-6);
});

test('workers start from the tarball, linked too', () => {
  const script = `
    const { load } = await import('lengthwise/worker');
    const lw = await load();
    console.log((await lw.encodings()).length > 0);
    lw.terminate();`;
  assert.equal(node(script), 'true');
  const linked = join(home, 'linked/node_modules');
  mkdirSync(linked, { recursive: true });
  symlinkSync(installed, join(linked, 'lengthwise'));
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: join(home, 'linked'), encoding: 'utf8' }).trim(), 'true');
});

test('threads start from the tarball', () => {
  assert.equal(node(`
    import { load } from 'lengthwise';
    console.log((await load({ threads: 2 })).threads);`), '2');
});

test('its types satisfy the strictest compiler', () => {
  writeFileSync(join(home, 'user.ts'), `
    import { load, experiment, type ExperimentResult, type EncodingDescriptor, type EncodingFacts } from 'lengthwise';
    import { texts } from 'lengthwise/texts';
    import { load as loadRemote } from 'lengthwise/worker';
    export async function main(): Promise<void> {
      const lw = await load({ variant: 'simd', threads: 2 });
      const facts: EncodingFacts[] = lw.encodings();
      const descriptors: EncodingDescriptor[] = lw.encodings(texts);
      // @ts-expect-error: titles come with the texts
      facts[0]?.title;
      const rope = lw.encoding({ name: 'rope', base: 5e5 }, { heads: 2, headDim: 8 });
      const turned: Float32Array = rope.rotate(new Float32Array(16), 3);
      rope.dispose();
      const model = lw.model({ width: 16, heads: 2, encoding: { layers: ['rope', ['alibi', 'log_n']] } });
      for await (const token of model.generate([1], { tokens: 3 })) token.toFixed();
      const result: ExperimentResult = await experiment({ encodings: ['rope'], task: 'copy', onProgress: (e) => { if (e.type === 'test') e.result.perplexity.toFixed(); } }).finished;
      const remote = await loadRemote();
      const count: number = await (await remote.encoding('rope')).rotation(3).then((r) => r.pairs);
      lw.register({ name: 'mine', options: { slope: 1, both: false, form: ['soft', 'hard'], power: { default: 2, integer: true } },
        bias: (head, d, { slope, both, form, power, heads }) => -slope * d ** power * heads * (form === 'hard' && both ? 1 : head) });
      // @ts-expect-error: a pattern is a predicate
      lw.register({ name: 'wrong', pattern: (i, j) => i - j });
      // @ts-expect-error: no such option
      lw.encoding('rope', { head: 2 });
      console.log(facts, descriptors, turned, result, count);
    }`);
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({
    compilerOptions: {
      strict: true, noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false,
      target: 'es2022', lib: ['es2022', 'dom', 'esnext.disposable'], module: 'nodenext', types: [],
    },
    files: ['user.ts'],
  }));
  try {
    execFileSync(process.execPath, [join(project, 'node_modules/typescript/bin/tsc'), '-p', home], { encoding: 'utf8' });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test('a bundler finds all its files', async () => {
  writeFileSync(join(home, 'index.html'), '<!doctype html><script type="module" src="./main.js"></script>');
  writeFileSync(join(home, 'main.js'), `
    import { experiment, load } from 'lengthwise';
    import { load as remote } from 'lengthwise/worker';
    Object.assign(globalThis, { experiment, load, remote });`);
  const { build } = await import('vite');
  const { output } = await build({ root: home, configFile: false, logLevel: 'silent', build: { write: false } });
  const names = output.map((file) => file.fileName.replace(/-[\w-]{8}\./, '.'));
  const files = ['', '-threads', '-inference'].flatMap((part) => ['', '-relaxed'].map((variant) => `assets/lengthwise${part}${variant}.wasm`));
  for (const name of [...files, 'assets/worker.js', 'assets/thread.js']) assert.equal(names.filter((each) => each === name).length, 1, `${name} in ${names}`);
});

test('bundlers are told to leave alone what is imported from addresses known only later', () => {
  const scripts = readdirSync(join(installed, 'dist')).filter((file) => file.endsWith('.js')).map((file) => readFileSync(join(installed, 'dist', file), 'utf8')).join('\n');
  const imports = [...scripts.matchAll(/\bimport\((?!["'])[^)]+\)/g)].map(([text]) => text).filter((text) => !/import\(new URL/.test(text));
  assert.ok(imports.length >= 1);
  for (const text of imports) assert.match(text, /^import\(\/\* ?webpackIgnore: ?true ?\*\/ ?\/\* ?@vite-ignore ?\*\/ ?\w+\)$/);
});

test('without exports, as Parcel and older TypeScript look for it, the package is found', () => {
  const { main, types } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const file of [main, types]) assert.ok(existsSync(join(installed, file)), file);
});

// In bundles for servers: what becomes of `new URL('./lengthwise.wasm', import.meta.url)`, and where the bundle lies.
for (const [what, folder, change, said] of [
  ['an address of the site, as in Next, is no file: the package\'s own is taken', join(installed, 'dist'), (text) => text.replace(/new URL\("\.\/(lengthwise[\w-]*\.wasm)",\s*import\.meta\.url\)/g, 'new URL("/_next/static/$1","file:///")'), /^true$/],
  ['no address at all', home, (text) => text.replaceAll('import.meta.url', 'undefined'), /^network this script does not know its own address/],
  ['a file that was not copied', home, (text) => text, /^network the WebAssembly file \S+ cannot be read\. Bundlers .*: copy \*\.wasm, worker\.js, thread\.js and shared-\*\.js .*, or pass wasmUrl or wasmBinary$/],
]) test(`a bundle for a server: ${what}`, async () => {
  const { build } = await import('esbuild');
  const contents = "import { load } from 'lengthwise'; console.log(await load().then((lw) => lw.encodings().length > 0, ({ code, message }) => code + ' ' + message));";
  const { outputFiles } = await build({ stdin: { contents, resolveDir: home }, bundle: true, platform: 'node', format: 'esm', target: 'node20', write: false, logLevel: 'silent' });
  const script = join(folder, 'bundled.mjs');
  writeFileSync(script, change(outputFiles[0].text));
  try {
    assert.match(execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim(), said);
  } finally {
    rmSync(script);
  }
});

test('a bundle for a server: scripts of workers that were not copied', async () => {
  const { build } = await import('esbuild');
  const contents = `import { experiment, load } from 'lengthwise'; import { load as remote } from 'lengthwise/worker';
    const wasm = { wasmBinary: process.getBuiltinModule('node:fs').readFileSync(${JSON.stringify(join(installed, 'dist/lengthwise.wasm'))}) };
    const several = { wasmBinary: process.getBuiltinModule('node:fs').readFileSync(${JSON.stringify(join(installed, 'dist/lengthwise-threads.wasm'))}), threads: 2 };
    for (const job of [() => remote(wasm), () => load(several), () => experiment({ encodings: ['rope'], task: 'copy', workers: 1, ...wasm }).finished]) console.log(await job().then(() => 'works', ({ message }) => message));`;
  const { outputFiles } = await build({ stdin: { contents, resolveDir: home }, bundle: true, platform: 'node', format: 'esm', target: 'node20', write: false, logLevel: 'silent' });
  writeFileSync(join(home, 'bundled.mjs'), outputFiles[0].text);
  const said = execFileSync(process.execPath, ['bundled.mjs'], { cwd: home, encoding: 'utf8' }).trim().split('\n');
  said.forEach((line, i) => assert.match(line, new RegExp(`/${i === 1 ? 'thread' : 'worker'}\\.js is not there\\. Bundlers .* keep the package out of a bundle for a server$`)));
  assert.equal(said.length, 3);
});

test('no bare process, for which Parcel brings a stand-in', () => {
  for (const file of readdirSync(join(installed, 'dist')).filter((name) => /^(index|remote|worker|thread|shared-.*)\.js$/.test(name))) {
    const text = readFileSync(join(installed, 'dist', file), 'utf8').replace(/(["'`])(?:\\.|(?!\1)[^\\])*\1/g, '""');
    assert.deepEqual(text.match(/(?<![\w$.])process\s*[.?[][^;]{0,40}/g), null, file);
  }
});

test('a development server of Vite finds the WebAssembly, given one line (vitejs/vite#15929)', async () => {
  const { createServer } = await import('vite');
  const server = await createServer({
    root: home, configFile: false, logLevel: 'silent', server: { host: '127.0.0.1', port: 0, ws: false }, optimizeDeps: { exclude: ['lengthwise'] },
  });
  try {
    await server.listen();
    const seen = new Map(); // what a browser would ask for: modules, and the files that they name
    const get = async (url) => {
      if (!seen.has(url.href)) seen.set(url.href, fetch(url).then((answer) => answer.arrayBuffer()));
      return Buffer.from(await seen.get(url.href));
    };
    const visit = async (url) => {
      if (seen.has(url.href)) return;
      for (const [, name] of (await get(url)).toString().matchAll(/(?:from ?|import ?)"([^"]*lengthwise[^"]*|\.[^"]*)"/g)) await visit(new URL(name, url));
      for (const [, name] of (await get(url)).toString().matchAll(/new URL\(['"]([^'"]+\.wasm)['"]/g)) await get(new URL(name, url));
    };
    await visit(new URL('main.js', server.resolvedUrls.local[0]));
    const modules = await Promise.all([...seen].filter(([url]) => url.includes('.wasm')).map(([, file]) => file));
    assert.equal(modules.length, 6, [...seen.keys()].join());
    for (const module of modules) assert.deepEqual([...new Uint8Array(module, 0, 4)], [0, 0x61, 0x73, 0x6d]);
  } finally {
    await server.close();
  }
});

test('the tarball holds what it needs and no more', () => {
  for (const name of ['LICENSE', 'dist/THIRD-PARTY.txt', 'dist/texts.d.mts']) assert.ok(existsSync(join(installed, name)), name);
  for (const name of ['bindings', 'src', 'tests', 'dist/web']) assert.ok(!existsSync(join(installed, name)), name);
});

test('a page that loads it downloads at most 152 KB, 122 for inference only (other compilers may need a little more)', async () => {
  const { build } = await import('esbuild');
  const entry = { contents: `import { load } from 'lengthwise'; globalThis.load = load;`, resolveDir: home };
  const { outputFiles } = await build({ stdin: entry, bundle: true, minify: true, format: 'esm', write: false, logLevel: 'silent' });
  const script = brotliCompressSync(outputFiles[0].contents).length;
  for (const [part, most] of [['', 152], ['-inference', 122]]) {
    for (const name of [`lengthwise${part}.wasm`, `lengthwise${part}-relaxed.wasm`]) {
      const size = script + brotliCompressSync(readFileSync(join(installed, 'dist', name))).length;
      assert.ok(size <= most * 1024, `${name} and its script: ${size} bytes with brotli`);
    }
  }
});
