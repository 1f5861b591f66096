// Where a search begins: a folder or file of the workspace, as an argument that cannot be taken for an option.
import { stat } from 'node:fs/promises';
import { ToolFailure } from '../../tool.ts';
import { confine, type Workspace } from '../files/confine.ts';
import { fsFailure, shown } from '../files/fs-failure.ts';

export type SearchPlace = {
  /** Relative to the workspace root; '' is the root. */
  readonly name: string;
  readonly argument: string;
  readonly isFolder: boolean;
};

export async function searchPlace(workspace: Workspace, path = '.'): Promise<SearchPlace> {
  const { path: real, name } = await confine(workspace, path);
  const stats = await stat(real).catch((error: unknown) => {
    throw fsFailure(error, path, 'searched');
  });
  if (!stats.isDirectory() && !stats.isFile()) throw new ToolFailure(`${shown(path)} is neither a folder nor a file.`);
  return { name, argument: `./${name}`, isFolder: stats.isDirectory() };
}

/** What ripgrep prints begins with the argument it was given. */
export function withoutDot(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}
