// Says when the list of what the scripted model plays was last compared with the pages it names too
// long ago. It only says so: a date alone never fails a check.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const MOST_DAYS = 60;
const page = new URL('../../scripted-model/README.md', import.meta.url);

/** The sentence, or undefined while the list is fresh. `text`: of scripted-model/README.md. */
export function staleDouble(text, now) {
  const dates = Array.from(text.matchAll(/\| (\d{4}-\d{2}-\d{2}) +\|$/gm), ([, date]) => date);
  const newest = dates.reduce((latest, date) => (date > latest ? date : latest), '');
  if (newest === '') return 'scripted-model/README.md: the list of what the scripted model plays has no date';
  const days = Math.floor((now - Date.parse(newest)) / 86_400_000);
  if (days <= MOST_DAYS) return undefined;
  return `scripted-model/README.md: what the scripted model plays was compared with the API's pages ${days} days ago (${newest}): read them again`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stale = staleDouble(readFileSync(page, 'utf8'), Date.now());
  if (stale !== undefined) console.warn(stale);
}
