import { fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/contract/thrown.ts'
import { playAgain } from './again.ts'
import { Chance } from './chance.ts'
import { playDeployment, playMany, playQueue } from './crowd.ts'
import { playDecisions } from './decisions.ts'
import { MOMENTS } from './moments.ts'
import { describeRound, drawRound, playRound } from './random.ts'
import { CLASSES } from './script.ts'
import { playForgedCopies, playOddRequests } from './fuzz.ts'
import { playRecoveryTimes } from './recovery-time.ts'
import { KINDS, KINDS_EDGE } from './kinds/all.ts'
import type { Kind } from './kinds/kind.ts'
import { Player } from './kinds/play.ts'
import { namesWith } from './parts.ts'
import { playKey, playReaders } from './sharing.ts'
import { endOf, killAt, rowsOf } from './table.ts'
import { playSchedules } from './schedules.ts'
import { playSimulations } from './simulation/play.ts'
import { type EdgeChanges, makeWorld, type World } from './world.ts'

/**
 * `npm run test:faults`: the edge on real processes, killed with SIGKILL again and again. `-- --seed 7 --runs 200`
 * gives the random parts, which kill each kind of run once for fifty of these runs; the seed is printed, and the same seed
 * draws the same runs and the same moments.
 * `-- --only decide` plays the parts with these words in their names alone, in any case. `-- --nightly` plays five times the random runs
 * and an hour of simulations, `-- --seconds 600` as many seconds of them; `-- --only Simulated --seed 4711` plays the
 * simulation of that seed first.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    seconds: { type: 'string' },
    nightly: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})
const seed = read('seed') ?? Math.floor(Math.random() * 2 ** 31)
const RUNS_A_ROUND = 25
const RUNS = read('runs') ?? (values.nightly ? 1000 : 200)
/** How often each kind of run is killed at a random moment, beside its points. Each kill takes about ten seconds. */
const KILLS = Math.ceil(RUNS / 50)
const SIMULATION_SECONDS = read('seconds') ?? (values.nightly ? 3600 : 60)
/** How many parts are played side by side: most of their time they wait for alarms. */
const LANES = 3

interface Part {
  readonly name: string
  readonly play: (world: World) => Promise<string[]>
  readonly edge?: EdgeChanges
}

/** The longest first, so that none is left over at the end. */
const PARTS: readonly Part[] = [
  ...[seed, seed + 1].map((own) => ({
    name: `Killed at random, seed ${own}`,
    play: (world: World) => playRandom(world, own, RUNS / 2),
  })),
  ...KINDS.map((kind) => ({
    name: `Runs of a kind killed at each point: ${kind.name}, seed ${seed}`,
    play: (world: World) => playKind(world, kind),
    edge: KINDS_EDGE,
  })),
  { name: 'Killed in every life', play: playAgain },
  { name: 'Killed at each moment', play: playTable },
  {
    name: '10,000 schedules, 1,000 of them due at once',
    play: (world) => playSchedules(world, { stored: 10_000, due: 1000 }),
  },
  { name: `Odd requests, seed ${seed}`, play: () => playOddRequests(seed, 60) },
  { name: `Forged copies, seed ${seed}`, play: () => playForgedCopies(seed, 60) },
  {
    name: '300 schedules due at once, killed amid them',
    play: (world) => playSchedules(world, { stored: 300, due: 300, killAfter: 100 }),
  },
  {
    name: '20 posts at once, killed amid them and twice while they recover',
    play: (world) => playQueue(world, 20, { killAfter: 8, times: 3 }),
  },
  { name: '500 conversations at once', play: (world) => playMany(world, 500) },
  {
    name: 'Deployed anew while 200 conversations are under way',
    play: (world) => playDeployment(world, 200),
  },
  { name: 'Killed while people decide', play: playDecisions },
  { name: 'How soon runs continue', play: playRecoveryTimes },
  { name: '100 posts to one conversation at once', play: (world) => playQueue(world, 100) },
  { name: '100 posts at once, killed amid them', play: (world) => playQueue(world, 100, { killAfter: 60 }) },
  { name: '20 posts with one key at once', play: playKey },
  { name: 'Readers who leave after each event', play: playReaders },
]

if (process.send) {
  // One part, in a process of the one below.
  process.once('disconnect', () => process.exit(1))
  const part = PARTS.find(({ name }) => name === values.only)
  process.exit(part !== undefined && (await playPart(part)) ? 0 : 1)
}

const began = Date.now()
let faults = 0
const simulation = `Simulated from seed ${seed} on`
const names = meantNames()
if (names.includes(simulation)) {
  console.log(`# ${simulation}`)
  faults += (await playSimulations(seed, SIMULATION_SECONDS)).length
}
const parts = PARTS.filter(({ name }) => names.includes(name)).values()
await Promise.all(Array.from({ length: LANES }, playLane))
console.log(`\n${faults === 0 ? 'No faults' : `${faults} faults`}, ${secondsSince(began)} in all`)
process.exit(faults === 0 ? 0 : 1)

/** Returns the whole number of an option, from 1 on; undefined if it is not given. */
function read(option: 'seed' | 'runs' | 'seconds'): number | undefined {
  const text = values[option]
  if (text === undefined || /^[1-9]\d*$/.test(text)) return text === undefined ? undefined : Number(text)
  return refuse(`--${option} takes a whole number from 1 on, not "${text}".`)
}

function meantNames(): readonly string[] {
  try {
    return namesWith(values.only, [simulation, ...PARTS.map(({ name }) => name)])
  } catch (error) {
    return refuse(messageOf(error))
  }
}

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

/** Plays one part after the other, each in a process of its own, and prints what it has to tell when it has ended. */
async function playLane(): Promise<void> {
  for (const { name } of parts) {
    const child = fork(import.meta.filename, ['--only', name, '--seed', String(seed), '--runs', String(RUNS)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const [report, [code]] = await Promise.all([
      text(child.stdout!),
      once(child, 'close') as Promise<[code: number | null]>,
    ])
    console.log(`\n# ${name}\n${report.trimEnd()}`)
    const count = report.split('\n').filter((line) => line.startsWith('FAULT ')).length
    if (code !== 0 && count === 0) console.log(`FAULT ended with ${code}`)
    faults += code === 0 ? 0 : Math.max(1, count)
  }
}

/** Plays a part on an edge of its own, and returns whether no fault was found. */
async function playPart({ play, edge }: Part): Promise<boolean> {
  const start = Date.now()
  const faultList = await playAlone(play, edge)
  for (const fault of faultList) console.log(`FAULT ${fault}`)
  console.log(`${faultList.length} faults, ${secondsSince(start)}`)
  return faultList.length === 0
}

function secondsSince(start: number): string {
  return `${((Date.now() - start) / 1000).toFixed(1)} s`
}

async function playAlone(play: Part['play'], edge?: EdgeChanges): Promise<string[]> {
  const world = await makeWorld(edge)
  try {
    await world.start()
    return [...(await play(world)), ...world.faults]
  } catch (error) {
    return [`${String(error)}\n${world.output()}`]
  } finally {
    await world.close()
  }
}

async function playTable(world: World): Promise<string[]> {
  const rows = rowsOf(MOMENTS, [...CLASSES.map((tool) => [tool]), CLASSES])
  await killAt(world, rows)
  const ends = await Promise.all(rows.map((row) => endOf(world, row)))
  for (const { name, calls } of ends) console.log(`${name}: ${calls.join(', ')}`)
  return ends.flatMap(({ name, faults, early }) =>
    [...faults, ...(early > 0 ? ['a stream ended before its run'] : [])].map((fault) => `${name}: ${fault}`),
  )
}

/** A kill at each point that a run of the kind passes; then rounds of eight runs, with four kills at random moments each. */
async function playKind(world: World, kind: Kind): Promise<string[]> {
  const player = new Player(world, seed)
  const moments = await player.momentsOf(kind)
  await player.killAt(moments)
  console.log(player.tally().join(', '))
  const chance = new Chance(seed)
  for (let kills = 0; kills < KILLS; kills += 4)
    await player.killAtRandom(kind, chance, { runs: 8, kills: Math.min(4, KILLS - kills) })
  console.log(`with ${KILLS} kills at random: ${player.tally().join(', ')}`)
  return player.end()
}

async function playRandom(world: World, first: number, runs: number): Promise<string[]> {
  const chance = new Chance(first)
  const faultList: string[] = []
  let remaining = runs
  for (let round = 1; remaining > 0; round++) {
    const plays = drawRound(chance, { round, runs: Math.min(remaining, RUNS_A_ROUND) })
    console.log(`${round}. ${describeRound(plays)}`)
    const { faults, tally } = await playRound(world, plays)
    console.log(`   ${tally.join(', ')}`)
    faultList.push(...faults)
    remaining -= RUNS_A_ROUND
  }
  return faultList
}
