// Helm for the tests of the chart.
import type { TestProject } from 'vitest/node';
import { findGoProgram } from './go-program.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of its program. */
    helm: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  project.provide('helm', await findGoProgram('helm.sh/helm/v3/cmd/helm', 'v3.16.4', 'some minutes'));
}
