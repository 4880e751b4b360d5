#!/usr/bin/env node
// The command line: results on stdout, progress and errors on stderr; exit code 1 for a failure, 2 for wrong usage.

import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { auditCommand } from './cli/audit.js';
import { compareCommand } from './cli/compare.js';
import { encodingsCommand } from './cli/encodings.js';
import { generateCommand } from './cli/generate.js';
import { lossCommand } from './cli/loss.js';
import { showCommand } from './cli/show.js';

const program = new Command('lengthwise')
  .version(createRequire(import.meta.url)('../package.json').version)
  .description('Trains tiny transformers at a short length and shows, measured, how each position encoding behaves past it.')
  .addHelpText('after', `
Every command has examples in its own help: lengthwise <command> --help
With --json a command prints JSON, alone, on standard output; progress goes to standard error.`);
for (const command of [compareCommand(), encodingsCommand(), showCommand(), generateCommand(), lossCommand(), auditCommand()]) {
  program.addCommand(command.copyInheritedSettings(program).exitOverride());
}
program.exitOverride().showHelpAfterError('(--help tells what there is)');

// A reader such as `head` may leave early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2; // commander has said why
  else {
    process.stderr.write(`lengthwise: ${inFlags(error instanceof Error ? error.message : String(error))}\n`);
    process.exitCode = 1;
  }
}

/** What the package calls topP is --top-p here. */
function inFlags(message: string): string {
  const options = program.commands.find((command) => command.name() === program.args[0])?.options ?? [];
  message = message.replace(/\bfineTuning\.length\b/g, 'fineTuneLength');
  return options.reduce((text, option) => {
    const name = option.attributeName();
    return /[A-Z]/.test(name) ? text.replace(new RegExp(`\\b${name}\\b`, 'g'), option.long ?? name) : text;
  }, message);
}
