// Reading arguments. What is wrong with one is usage (exit code 2), said by commander with the option's name.

import { access, constants, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InvalidArgumentError } from 'commander';

export function integerArgument(least: number, most = Infinity): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isSafeInteger(value) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be an integer${most < Infinity ? ` from ${least} to ${most}` : least > -Infinity ? `, at least ${least}` : ''}.`);
    }
    return value;
  };
}

export function numberArgument(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

export function listArgument(text: string): string[] {
  const list = text.split(',').map((part) => part.trim());
  if (list.includes('')) throw new InvalidArgumentError(list.length > 1 ? 'It has an empty place between commas.' : 'It must name at least one, separated by commas.');
  return list;
}

export function integersArgument(text: string): number[] {
  return listArgument(text).map(integerArgument(1));
}

export function jsonArgument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It must be JSON.');
  }
}

export function numbersArgument(text: string): number[] {
  const value = jsonArgument(text);
  if (!Array.isArray(value) || value.some((x) => typeof x !== 'number')) throw new InvalidArgumentError('It must be a JSON array of numbers.');
  return value;
}

export function objectArgument(text: string): Record<string, unknown> {
  const value = jsonArgument(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new InvalidArgumentError('It must be a JSON object.');
  return value as Record<string, unknown>;
}

/** A file's bytes. @throws one sentence naming the file */
export async function readBytes(what: string, path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new Error(`the ${what} ${path} cannot be read: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}

/** Makes sure, before long work, that a file can be written after it. @throws one sentence naming the file */
export async function checkWritable(what: string, path: string): Promise<void> {
  try {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    await access(found ? path : dirname(path), constants.W_OK);
  } catch (cause) {
    throw new Error(`the ${what} ${path} cannot be written: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}
