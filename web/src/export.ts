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
  const text = lab.settings.task !== 'text' ? undefined : lab.ownText ? { own: true, bytes: lab.ownText } : { own: false };
  return JSON.stringify({ settings: lab.settings, text, runs }, null, 1) + '\n';
}

const painted = ['fill', 'stroke', 'color', 'fill-opacity', 'stroke-opacity', 'opacity', 'stroke-width', 'stroke-dasharray', 'font', 'text-anchor'];

// Outside this page there are no variables of ours: every computed colour is written into the copy. Around it is room for
// what passes the edges, and above it what the page says about the chart.
export function standalone(svg: SVGSVGElement, heading: string, upwards: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll<SVGElement>('*')], to = [copy, ...copy.querySelectorAll<SVGElement>('*')];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of painted) to[i]!.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.style.background = getComputedStyle(document.documentElement).backgroundColor;
  const { x, y, width, height } = svg.getBBox(), margin = 12, above = 44;
  const left = Math.min(0, x) - margin, top = Math.min(0, y) - above, right = Math.max(svg.width.baseVal.value, x + width) + margin;
  copy.setAttribute('width', String(right - left));
  copy.setAttribute('height', String(Math.max(svg.height.baseVal.value, y + height) + margin - top));
  copy.setAttribute('viewBox', `${left} ${top} ${copy.getAttribute('width')} ${copy.getAttribute('height')}`);
  copy.append(line(heading, left + margin, top + 20, 600, 1), line(upwards, left + margin, top + 38, 400, 0.7));
  copy.querySelectorAll('style, [aria-label="tip"]').forEach((element) => element.remove());
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(copy);
}

function line(text: string, x: number, y: number, weight: number, opacity: number): SVGTextElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', 'text');
  const attributes = { x, y, opacity, 'font-weight': weight, 'text-anchor': 'start', fill: 'currentColor' };
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

export function download(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
