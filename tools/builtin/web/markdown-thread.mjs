// Turns HTML into Markdown in a thread of its own: a page of a stranger can be made to take a
// parser minutes and gigabytes, and whoever waits ends the thread.
import { parentPort, workerData } from 'node:worker_threads';
import TurndownService from 'turndown';

const { html, base } = workerData;

const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
service.remove(['script', 'style', 'noscript', 'template', 'iframe', 'object', 'canvas', 'svg', 'head']);

service.addRule('link', {
  filter: (node) => node.nodeName === 'A' && node.getAttribute('href') !== null,
  replacement(content, node) {
    const text = onOneLine(content);
    const to = absolute(node.getAttribute('href'));
    return text === '' || to === null ? text : `[${text}](${to})`;
  },
});
service.addRule('image', {
  filter: 'img',
  replacement(_content, node) {
    const text = onOneLine(node.getAttribute('alt') ?? '');
    const from = absolute(node.getAttribute('src') ?? '');
    return text === '' || from === null ? text : `![${text}](${from})`;
  },
});
service.addRule('cell', {
  filter: ['th', 'td'],
  replacement: (content) => ` ${onOneLine(content).replaceAll('|', '\\|')} |`,
});
service.addRule('row', {
  filter: 'tr',
  replacement: (content, node) => `|${content}\n${isFirst(node) ? `|${' --- |'.repeat(node.children.length)}\n` : ''}`,
});
service.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => content });
service.addRule('table', { filter: 'table', replacement: (content) => `\n\n${content.trim()}\n\n` });

/** @param {string} text */
function onOneLine(text) {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

/** @param {string} reference */
function absolute(reference) {
  const url = URL.canParse(reference, base) ? new URL(reference, base) : null;
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
}

/** @param {any} row */
function isFirst(row) {
  const group = row.parentNode;
  const above = group.nodeName === 'TABLE' ? null : group.previousElementSibling;
  return row.previousElementSibling === null && (above === null || above.nodeName === 'CAPTION');
}

const title = /<title[^>]{0,200}>([^<]{1,300})/i.exec(html.slice(0, 20_000))?.[1];
const heading = title === undefined ? '' : `${service.turndown(`<p>${title}</p>`)}\n\n`;
parentPort?.postMessage(`${heading}${service.turndown(html)}`, []);
