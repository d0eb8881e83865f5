/** What must come of a scenario: `absent` if the application has no such thing, else what `resultOf` returns. */
interface Expected {
  readonly result: string
  readonly why: string
}

const NO_SUBAGENTS: Expected = { result: 'absent', why: 'It has no subagents.' }
const NO_COMPACTION: Expected = {
  result: 'absent',
  why: 'It compacts only what fills the window, or in its screen; no command has it do so.',
}

const CLINE: Readonly<Record<string, Expected>> = {
  compaction: NO_COMPACTION,
  task: { result: 'turn 2 does not show the answer', why: 'It continues a session only in its screen, on a terminal.' },
}

/** The cells that are not `right`, by row and scenario, each with the reason. */
export const EXPECTED: Readonly<Record<string, Readonly<Record<string, Expected>>>> = {
  opencode: { compaction: NO_COMPACTION },
  Kilo: { compaction: NO_COMPACTION },
  pi: {
    compaction: { result: 'absent', why: 'It keeps the newest 20,000 tokens, so that nothing is left to compact.' },
    subagent: NO_SUBAGENTS,
  },
  Continue: {
    compaction: NO_COMPACTION,
    subagent: { result: 'absent', why: 'Its subagents are a beta that a flag enables.' },
  },
  'Cline, OpenAI provider': CLINE,
  'Cline, Anthropic provider': CLINE,
}
