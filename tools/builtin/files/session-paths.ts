// How tools see a session's files below /mnt/session (G66): commands have them mounted there, file
// tools read and write them where they are and name them as commands do.
import { isAbsolute, join, normalize, relative } from 'node:path';
import { OUTPUTS, UPLOADS } from '../../../store/values/files.ts';
import type { ShownFolder } from '../../../system/process/bwrap.ts';
import { isInside } from '../../../system/process/places.ts';
import { type JudgeContext, type Tool, type ToolContext, ToolFailure, type ToolOutput } from '../../tool.ts';
import { type Placed, shownMounts } from './mounts.ts';
import type { BuiltinOptions } from './options.ts';

/** Returns what a command is shown below /mnt. Throws StoreError. */
export async function showSessionFiles(
  { sessionFiles }: Pick<ToolContext, 'sessionFiles'>,
  { attached, mounts }: Pick<BuiltinOptions, 'attached' | 'mounts'>,
): Promise<readonly ShownFolder[]> {
  const mounted = shownMounts(mounts);
  if (!sessionFiles) return mounted;
  const outputs: ShownFolder = { path: OUTPUTS, from: sessionFiles.outputs, isWritable: true };
  const own = attached ? [{ path: UPLOADS, from: await attached.lay(sessionFiles.of) }, outputs] : [outputs];
  return [...own, ...mounted];
}

/**
 * Adds the folder of uploads to those in which a command may read unasked: Perdure alone writes
 * there, so no link leads out of it.
 */
export const withUploads = <Context extends Partial<Pick<JudgeContext, 'folders' | 'sessionFiles'>>>(
  context: Context,
): Context => (context.sessionFiles ? { ...context, folders: [...(context.folders ?? []), UPLOADS] } : context);

/** A glob may be absolute: then it says where by itself. */
const pathIn = ({ path, pattern }: Placed): string | undefined => {
  const written = path ?? (pattern !== undefined && isAbsolute(pattern) ? pattern : undefined);
  return written === undefined || !isAbsolute(written) ? undefined : normalize(written);
};

/** Names a file or a folder below `from` by the folder `to`. */
function moveInput(input: Placed, from: string, to: string): Placed {
  const moved = (path: string): string => join(to, relative(from, normalize(path)));
  return input.path === undefined
    ? { ...input, path: to, pattern: moved(input.pattern ?? '') }
    : { ...input, path: moved(input.path) };
}

/** Gives a file tool of a session's toolset the session's files. */
export function seeSessionFiles(tool: Tool, { attached }: Pick<BuiltinOptions, 'attached'>): Tool {
  const isReader = tool.risk === 'read';
  const { subject, validate, wouldFail, call } = tool;
  const isUpload = (input: unknown, { sessionFiles }: Pick<JudgeContext, 'sessionFiles'>): boolean => {
    const path = pathIn(input as Placed);
    return sessionFiles !== undefined && path !== undefined && isInside(UPLOADS, path);
  };
  /** Names a file among the outputs by its own path. */
  const own = (input: unknown, { sessionFiles }: Pick<JudgeContext, 'sessionFiles'>): unknown => {
    const path = pathIn(input as Placed);
    if (!sessionFiles || path === undefined || !isInside(OUTPUTS, path)) return input;
    return moveInput(input as Placed, OUTPUTS, sessionFiles.outputs);
  };
  return {
    ...tool,
    ...(subject && { subject: (input, context) => subject(own(input, context), context) }),
    ...(!isReader && {
      validate: async (input, context) => {
        if (isUpload(input, context)) return READ_ONLY;
        return validate?.(own(input, context), context);
      },
    }),
    ...(wouldFail && {
      wouldFail: async (input, context) =>
        isUpload(input, context) ? undefined : wouldFail(own(input, context), context),
    }),
    call: async (input, context) => {
      const { sessionFiles } = context;
      if (!sessionFiles) return call(input, context);
      if (!isUpload(input, context))
        return renameWithin(sessionFiles.outputs, OUTPUTS, () => call(own(input, context), context));
      if (!isReader || !attached) throw new ToolFailure(isReader ? `This worker has no ${UPLOADS}.` : READ_ONLY);
      const folder = await attached.lay(sessionFiles.of);
      const { folders: _, mayUse, mayShow, ...rest } = context;
      const there: ToolContext = {
        ...rest,
        cwd: folder,
        dir: folder,
        // Rules know the files by the names that the model has for them.
        ...(mayUse && { mayUse: (path) => mayUse(join(UPLOADS, relative(folder, path))) }),
        ...(mayShow && { mayShow: (path) => mayShow(join(UPLOADS, relative(folder, path))) }),
      };
      const { seen: ___, ...output } = await renameWithin(folder, UPLOADS, () =>
        call(moveInput(input as Placed, UPLOADS, folder), there),
      );
      return output;
    },
  };
}

const READ_ONLY = `Files in ${UPLOADS} are read-only: write to ${OUTPUTS}.`;

/** Names what lies in the folder `from` by the folder `to` in what a tool answers. */
async function renameWithin(from: string, to: string, work: () => Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    const output = await work();
    return { ...output, content: output.content.replaceAll(from, to) };
  } catch (error) {
    if (!(error instanceof ToolFailure) || !error.message.includes(from)) throw error;
    throw new ToolFailure(error.message.replaceAll(from, to), { cause: error });
  }
}
