import { Command } from 'commander';
import { load } from '../load.js';
import { texts } from '../texts.mjs';
import { printJson, printTable } from './output.js';

const PAST = { same: 'same by design', degrades: 'gets worse', refuses: 'refuses' };

export function encodingsCommand(): Command {
  return new Command('encodings')
    .description('Lists the position encodings: the doors each opens, its options, what happens past the trained length.')
    .option('--json', 'print the full descriptors as JSON')
    .addHelpText('after', `
A door is a place where position can enter a transformer:
  ids       the number that a token carries
  input     a vector added to the token's embedding
  rotation  a rotation of each pair of q and k
  bias      a number added to the score, known before the content is
  content   a score term that depends on content and position together
  pattern   who may look at whom
  scale     a factor on the scores of a row
  value     a position term added to what is read

Examples:
  lengthwise encodings
  lengthwise encodings --json | jq '.[] | select(.name == "rope") | .options'`)
    .action(async ({ json }: { json?: boolean }) => {
      const descriptors = (await load({ inferenceOnly: true })).encodings(texts);
      if (json) return printJson(descriptors);
      printTable(['name', 'doors', 'learned', 'past its length', 'options', 'title'], descriptors.map((d) => [
        d.name, d.doors.join(' ') || '—', d.learned ? 'yes' : '', PAST[d.past],
        d.options.map((o) => `${o.name}=${o.default}`).join(' '), d.title,
      ]));
    });
}
