// Downloads: the numbers as CSV and JSON, a chart as an SVG that stands alone.
import type { Lab } from './lab.ts';

export function csv(lab: Lab): string {
  const quote = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = lab.runs.flatMap((run) => [...run.tests.values()].map((test) => [
    quote(run.encoding), run.seed, lab.settings.task, lab.settings.length, test.length, test.step, test.loss, test.perplexity, test.accuracy,
  ].join(',')));
  return ['encoding,seed,task,trained_length,test_length,step,loss,perplexity,accuracy', ...rows].join('\n') + '\n';
}

export function json(lab: Lab): string {
  const runs = lab.runs.map((run) => ({
    encoding: run.encoding, seed: run.seed, state: run.state, step: run.step, losses: run.losses,
    tests: [...run.tests.values()].map((test) => ({ ...test, byPosition: Array.from(test.byPosition) })),
  }));
  return JSON.stringify({ settings: lab.settings, runs }, null, 1) + '\n';
}

const painted = ['fill', 'stroke', 'color', 'fill-opacity', 'stroke-opacity', 'opacity', 'stroke-width', 'stroke-dasharray', 'font', 'text-anchor'];

// Outside this page there are no variables of ours: every computed colour is written into the copy.
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll<SVGElement>('*')], to = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of painted) to[i]!.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.style.background = getComputedStyle(document.documentElement).backgroundColor;
  copy.querySelectorAll('style, [aria-label="tip"]').forEach((element) => element.remove());
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(copy);
}

export function download(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
