// The real file system, but for one operation that fails as a disk would.
import { type Files, nodeFiles } from '../../store/values/file-io.ts';

export type FailingFiles = {
  readonly files: Files;
  /** From now on `operation` throws; with `null` it works again. */
  fail(operation: keyof Files | null, code?: string): void;
};

const asynchronous: ReadonlySet<string> = new Set<keyof Files>(['write', 'flush', 'flushFolder', 'read']);

export function failingFiles(): FailingFiles {
  let failing: { operation: keyof Files; code: string } | null = null;
  const guard = <Operation extends keyof Files>(operation: Operation): Files[Operation] => {
    const real = nodeFiles[operation] as (...args: unknown[]) => unknown;
    const guarded = (...args: unknown[]): unknown => {
      if (failing?.operation !== operation) return real(...args);
      const { code } = failing;
      const error = Object.assign(new Error(`${code}: ${operation}`), { code, syscall: operation });
      if (asynchronous.has(operation)) return Promise.reject(error);
      throw error;
    };
    return guarded as Files[Operation];
  };
  const names = Object.keys(nodeFiles) as (keyof Files)[];
  return {
    files: Object.fromEntries(names.map((name) => [name, guard(name)])) as Files,
    fail: (operation, code = 'EIO') => {
      failing = operation && { operation, code };
    },
  };
}
