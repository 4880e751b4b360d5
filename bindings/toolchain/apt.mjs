// Fetching Debian packages of another suite through the machine's own apt configuration (mirrors,
// proxies, keyrings), with private state folders: nothing on the system is touched.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ask, distribution, meter, Problem, run } from './host.mjs';

/** The suites that `name` may be written as in a source: itself and its pockets. */
const pocket = (suite, names) => {
  const [head] = suite.split(/[-/]/);
  return names.includes(head) ? suite.slice(head.length) : null;
};

/** One-line sources ("deb [options] uri suite component…") with the suite replaced. */
export function deriveList(text, names, target) {
  const lines = [];
  for (const line of text.split('\n')) {
    const match = /^\s*deb\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line.replace(/#.*/, ''));
    const rest = match && pocket(match[3], names);
    if (rest !== null && match) {
      lines.push(`deb ${match[1] ?? ''}${match[2]} ${target}${rest} ${match[4].trim()}`);
    }
  }
  return lines.length ? `${lines.join('\n')}\n` : '';
}

/** deb822 stanzas with the suites replaced; every other field (Signed-By, URIs …) is kept. */
export function deriveSources(text, names, target) {
  const stanzas = [];
  const withoutComments = text.split('\n').filter((line) => !line.startsWith('#')).join('\n');
  for (const stanza of withoutComments.split(/\n\s*\n/)) {
    const fields = stanza.split(/\n(?=\S)/).map((field) => field.trim()).filter(Boolean)
      .map((field) => [field.slice(0, field.indexOf(':')), field]);
    const value = (name) => fields.find(([key]) => key.toLowerCase() === name)?.[1]
      .replace(/^[^:]*:/, '').trim() ?? '';
    if (/^(no|false|0|off)$/i.test(value('enabled'))) continue;
    if (!value('types').split(/\s+/).includes('deb')) continue;
    const suites = value('suites').split(/\s+/).map((suite) => pocket(suite, names))
      .filter((rest) => rest !== null).map((rest) => target + rest);
    if (!suites.length) continue;
    const kept = fields.filter(([key]) => !/^(types|suites|enabled)$/i.test(key)).map(([, field]) => field);
    stanzas.push(['Types: deb', `Suites: ${suites.join(' ')}`, ...kept].join('\n'));
  }
  return stanzas.length ? `${stanzas.join('\n\n')}\n` : '';
}

/** The machine's own source files, as { name, text }. */
function sourceFiles(etc = '/etc/apt') {
  const parts = join(etc, 'sources.list.d');
  const paths = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  return [join(etc, 'sources.list'), ...paths]
    .filter((path) => /\.(list|sources)$/.test(path) && existsSync(path))
    .map((path) => ({ name: basename(path), text: readFileSync(path, 'utf8') }));
}

// Hooks of the machine (desktop catalogues, cache cleaners) have no business with private folders.
const HOOKS = ['APT::Update::Pre-Invoke', 'APT::Update::Post-Invoke', 'APT::Update::Post-Invoke-Success',
  'DPkg::Pre-Invoke', 'DPkg::Post-Invoke', 'Acquire::IndexTargets::deb::DEP-11',
  'Acquire::IndexTargets::deb::DEP-11-icons', 'Acquire::IndexTargets::deb::DEP-11-icons-small',
  'Acquire::IndexTargets::deb::DEP-11-icons-large', 'Acquire::IndexTargets::deb::DEP-11-icons-hidpi',
  'Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi', 'Acquire::IndexTargets::deb::Contents-deb'];

export class PrivateApt {
  /** @param {string} cache where private state and downloads go  @param {string} suite code name to fetch from */
  constructor(cache, suite) {
    // One per process: the apt of a set-up that was killed may still be at work in its own.
    this.folder = join(cache, `apt-${process.pid}`);
    this.debs = join(cache, 'debs');
    this.suite = suite;
    for (const name of readdirSync(cache).filter((each) => each.startsWith('apt-'))) {
      rmSync(join(cache, name), { recursive: true, force: true });
    }
  }

  /** Leaves nothing behind. */
  close() {
    for (const path of [this.folder, this.debs]) rmSync(path, { recursive: true, force: true });
  }

  /** Writes the derived sources and reads the package lists. */
  async open() {
    const at = (...names) => join(this.folder, ...names);
    for (const path of ['lists/partial', 'cache/archives/partial', 'sources', 'none']) mkdirSync(at(path), { recursive: true });
    mkdirSync(this.debs, { recursive: true });
    const { codename } = distribution();
    // Sources may say "stable" for the code name; but so do many strangers' sources, hence only then.
    const found = [[codename], ['stable', 'oldstable', 'testing', 'sid']].some((names) => {
      let some = false;
      for (const { name, text } of sourceFiles()) {
        const derive = name.endsWith('.list') ? deriveList : deriveSources;
        const derived = derive(text, names, this.suite);
        writeFileSync(at('sources', name), derived);
        some ||= derived !== '';
      }
      return some;
    });
    if (!found) {
      throw new Problem(`Found no apt source for ${codename || 'this distribution'} to fetch Emscripten through; `
        + 'please install Emscripten 3.1.69 or newer and put emcc on PATH.');
    }
    writeFileSync(at('status'), '');
    this.config = at('apt.conf');
    writeFileSync(this.config, [
      ...HOOKS.map((hook) => `#clear ${hook};`),
      `Dir::State "${this.folder}";`,
      `Dir::State::status "${at('status')}";`,
      `Dir::Cache "${at('cache')}";`,
      'Dir::Etc::SourceList "/dev/null";',
      `Dir::Etc::SourceParts "${at('sources')}";`,
      'Dir::Etc::Preferences "/dev/null";',
      `Dir::Etc::PreferencesParts "${at('none')}";`,
      'Acquire::Languages "none";',
      'Acquire::Retries "3";',
      'APT::Install-Recommends "false";',
      // apt would drop to a user who may not be able to read a cache in somebody's home.
      'APT::Sandbox::User "root";',
      '',
    ].join('\n'));
    // A stranger's source may not know the suite: what counts is whether the packages are offered.
    await run('apt-get', ['-c', this.config, 'update', '-q']).catch((error) => { this.trouble = error.message; });
  }

  #missing(packages) {
    const why = (this.trouble ?? '').split('\n').filter((line) => /^[EW]:/.test(line)).slice(0, 2).join(' ');
    return new Problem(`The package sources for ${this.suite} do not offer ${packages.join(', ')}`
      + `${why ? ` (${why})` : ''}: please check the network and the apt sources, or install Emscripten 3.1.69 or newer.`);
  }

  /** Every package that installing `roots` on an empty machine would bring. */
  closure(roots) {
    const plan = ask('apt-get', ['-c', this.config, '-s', 'install', ...roots]);
    if (plan === null) throw this.#missing(roots);
    return [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name.replace(/:.*/, ''));
  }

  /** Downloads packages (apt checks their signatures and hashes); gives their .deb paths. */
  async download(packages, label) {
    const { debs } = this;
    const list = ask('apt-get', ['-c', this.config, 'download', '--print-uris', ...packages], { cwd: debs });
    const files = [...(list ?? '').matchAll(/^'[^']*' (\S+) (\d+)/gm)]
      .map(([, name, size]) => ({ path: join(debs, name), size: Number(size) }));
    if (files.length < packages.length) throw this.#missing(packages);
    const total = files.reduce((sum, { size }) => sum + size, 0);
    const have = () => files.reduce((sum, { path }) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
    const progress = meter(label);
    const timer = setInterval(() => progress.show(
      `${(have() / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB (${(100 * have() / total).toFixed(0)} %)`), 250);
    try {
      await run('apt-get', ['-c', this.config, 'download', '-q', ...packages], { cwd: debs });
    } catch (error) {
      const reason = error.message.split('\n').find((line) => line.startsWith('E:')) ?? error.message;
      throw new Problem(`Downloading ${packages[0]} and what it needs failed, please try again: ${reason}`);
    } finally {
      clearInterval(timer);
      progress.end();
    }
    return files.map(({ path }) => path);
  }
}
