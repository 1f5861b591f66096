// The activities that were here before. They stand for a tracker: an issue is a file of the folder,
// and so is a comment.
import { readFile, writeFile } from 'node:fs/promises';
import { log } from '@temporalio/activity';

export type Issue = { readonly title: string; readonly text: string };

export async function fetchIssue(issue: number): Promise<Issue> {
  const [title = '', ...lines] = (await readFile(`issue-${issue}.md`, 'utf8')).split('\n');
  log.info('issue fetched', { issue });
  return { title, text: lines.join('\n').trim() };
}

/** Returns the name of the file. */
export async function fileComment(issue: number, text: string): Promise<string> {
  const file = `issue-${issue}.comment.md`;
  await writeFile(file, `${text}\n`);
  return file;
}
