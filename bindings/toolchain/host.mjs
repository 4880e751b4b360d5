// What the machine offers: programs, distribution, root or not. Plain Node only: this runs before
// `npm ci`.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A failure the user can mend: its message is one sentence that says how. */
export class Problem extends Error {}

export const isRoot = process.getuid?.() === 0;

export function cacheFolder() {
  return process.env.LENGTHWISE_CACHE
    || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lengthwise');
}

const startedAt = Date.now();

/** Progress goes to stderr, so that a command's own output stays clean. */
export function say(text) {
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(0).padStart(3);
  process.stderr.write(`[${seconds} s] ${text}\n`);
}

/** A line that is redrawn on a terminal, and printed now and then in a log. */
export function meter(label) {
  const terminal = process.stderr.isTTY;
  let printed = Date.now();
  return {
    show(text) {
      if (terminal) process.stderr.write(`\r\x1b[K        ${label} ${text}`);
      else if (Date.now() - printed > 5000) {
        printed = Date.now();
        say(`${label} ${text}`);
      }
    },
    end() {
      if (terminal) process.stderr.write('\r\x1b[K');
    },
  };
}

export function which(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder || '.', name);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch { /* not here */ }
  }
  return null;
}

/** Output of a short command, or null when it cannot be run or fails. */
export function ask(command, args, options = {}) {
  const { status, stdout } = spawnSync(command, args,
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26, ...options });
  return status === 0 ? stdout : null;
}

/** Runs a long command; what it prints is shown only when it fails. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    const output = [];
    child.stdout?.on('data', (data) => output.push(data));
    child.stderr?.on('data', (data) => output.push(data));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const text = Buffer.concat(output).toString();
      if (code === 0) return resolve(text);
      const tail = text.trim().split('\n').slice(-12).join('\n');
      const how = code === null ? `was ended by ${signal}` : `ended with ${code}`;
      reject(new Error(`${command} ${args.slice(0, 4).join(' ')} … ${how}:\n${tail}`));
    });
  });
}

/** { id: 'debian', like: '…', version: 12, codename: 'bookworm' } */
export function distribution() {
  const fields = {};
  if (existsSync('/etc/os-release')) {
    for (const line of readFileSync('/etc/os-release', 'utf8').split('\n')) {
      const match = /^(\w+)="?(.*?)"?$/.exec(line);
      if (match) fields[match[1]] = match[2];
    }
  }
  return {
    id: fields.ID ?? process.platform,
    name: fields.PRETTY_NAME ?? process.platform,
    version: Number.parseFloat(fields.VERSION_ID ?? 'NaN'),
    codename: fields.VERSION_CODENAME ?? '',
  };
}

export const hasApt = () => Boolean(which('apt-get') && which('dpkg-deb'));

/**
 * Installs packages as root with apt. Anybody else gets a sentence to act upon.
 * @param {string[]} packages
 * @param {string} purpose completes "… needed to …"
 */
export async function install(packages, purpose) {
  const list = packages.join(' ');
  if (!hasApt()) throw new Problem(`Please install ${list} (needed to ${purpose}).`);
  const command = `apt-get install ${list}`;
  if (!isRoot) throw new Problem(`Please run "sudo ${command}" (needed to ${purpose}).`);
  say(`installing ${list} (needed to ${purpose})`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const args = ['install', '-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', ...packages];
  try {
    await run('apt-get', ['update', '-q'], { env }).catch(() => {});
    await run('apt-get', args, { env });
  } catch (error) {
    say(error.message);
    throw new Problem(`"${command}" failed, please mend that by hand (needed to ${purpose}).`);
  }
}

/**
 * Runs `work` while holding the lock `path`. The kernel drops the lock when its holder dies, so a
 * killed set-up never blocks the next one.
 */
export async function withLock(path, work) {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo locked; cat >/dev/null'],
    { stdio: ['pipe', 'pipe', 'ignore'] });
  const patience = setTimeout(() => say('waiting for another set-up to finish'), 1500);
  try {
    await new Promise((resolve, reject) => {
      holder.stdout.once('data', resolve);
      holder.once('error', () => reject(new Problem('Please install util-linux, for its flock command.')));
      holder.once('exit', () => reject(new Error(`could not lock ${path}`)));
    });
    clearTimeout(patience);
    return await work();
  } finally {
    clearTimeout(patience);
    holder.stdin.end();
  }
}
