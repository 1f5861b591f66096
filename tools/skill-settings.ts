// Where skills come from, for the tools that read them and for the list that a model is told (L79).

/** Where a worker's skills are. */
export type SkillSettings = {
  /** Absolute paths: each is a folder of skills, or one itself. */
  readonly folders: readonly string[];
  /** Skills of a workspace count, too, or those of these names. */
  readonly workspace: boolean | readonly string[];
};
