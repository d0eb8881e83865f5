import { gather, startRun } from '../case.ts'
import { conversation } from '../client.ts'
import { keptFault } from '../history.ts'
import type { ToolName } from '../script.ts'
import { insist } from '../world.ts'
import {
  addScript,
  callWords,
  endFaults,
  type Ending,
  type Kind,
  otherRunFaults,
  runFaults,
  send,
  type Stage,
  tokensOf,
  usageFaults,
  watch,
} from './kind.ts'

/** The model with a small window, and how many tokens that has. */
export const SMALL = { model: 'openai/small', contextTokens: 2000 }

/** The tools of each answer of each turn: the results of the second fill the window, and what is left of them does later. */
const TURNS: readonly (readonly (readonly ToolName[])[])[] = [
  [['plain']],
  [
    ['wordy', 'wordy'],
    ['wordy', 'idempotent'],
    ['wordy', 'wordy'],
    ['wordy', 'wordy'],
  ],
  [['wordy', 'wordy']],
  [['plain', 'readOnly']],
]
const TOOLS = ['plain', 'idempotent', 'readOnly', 'wordy']

/** Conversations of a model whose window is so small that its prompt is reduced within a turn and between turns. */
export const reduced: Kind = { name: 'reduced', play }

async function play(stage: Stage): Promise<Ending> {
  const { world, token } = stage
  const id = `of-${token}`
  await insist(world, (url) => conversation(url, id).make())
  const endings: Ending[] = []
  const reductions = new Set<string>()
  for (const [before, rounds] of TURNS.entries()) {
    const turn = `turn ${before + 1}`
    const script = addScript(stage, { token: `${token}-${before + 1}`, rounds, countsTokens: true }, turn)
    const body = { model: SMALL.model, tools: TOOLS }
    const run = await send(stage, turn, (url) => startRun(url, id, script, body))
    const each = { script, conversation: id, run, ...watch(stage, id, run) }
    const noEnd = await endFaults(world, each)
    if (noEnd.length > 0) return { faults: noEnd, calls: [], tokens: 0 }
    const evidence = await gather(world, each)
    const tokens = tokensOf(evidence)
    const historyFault = keptFault(evidence.messages)
    const faults = [
      ...runFaults(evidence),
      ...usageFaults(evidence.record, tokens),
      ...(historyFault ? [historyFault] : []),
    ]
    endings.push({ faults: faults.map((fault) => `${script.token}: ${fault}`), calls: callWords(evidence), tokens })
    for (const { event } of evidence.replay)
      if (event.type === 'context.reduced') reductions.add(event.step === 1 ? 'between turns' : 'within a turn')
    if (before === TURNS.length - 1) {
      const others = await otherRunFaults(world, each, TURNS.length)
      endings.push({ faults: others.map((fault) => `${token}: ${fault}`), calls: [], tokens: 0 })
    }
  }
  const missing = ['between turns', 'within a turn'].filter((place) => !reductions.has(place))
  return {
    faults: [
      ...endings.flatMap((ending) => ending.faults),
      ...missing.map((place) => `${token}: nothing was reduced ${place}`),
    ],
    calls: endings.flatMap((ending) => ending.calls),
    tokens: endings.reduce((sum, ending) => sum + ending.tokens, 0),
  }
}
