import { registerHooks } from 'node:module'

/** `node main.ts <first seed> <seconds> <step>`: simulations of every step-th seed from there on, until the time is over. */
const RUNTIME = new URL('../../fixtures/runtime.ts', import.meta.url).href
const MOST_FAULTS = 20

// What workerd gives are empty classes in Node.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'cloudflare:workers' ? { url: RUNTIME, shortCircuit: true } : next(specifier, context),
})
const { simulate } = await import('./simulate.ts')

const [first, seconds, step = 1] = process.argv.slice(2).map(Number) as [number, number, number?]
const began = performance.now()
let [runs, programs, faults] = [0, 0, 0]
do {
  const seed = first + programs * step
  const simulated = await simulate(seed)
  programs += 1
  runs += simulated.runs
  faults += simulated.faults.length
  for (const fault of simulated.faults) console.log(`FAULT seed ${seed}: ${fault}`)
  if (simulated.faults.length > 0) console.log(`   ${simulated.trace.join('\n   ')}`)
} while (performance.now() - began < seconds * 1000 && faults < MOST_FAULTS)
const took = (performance.now() - began) / 1000
console.log(`${programs} programs, ${runs} runs, ${(runs / took).toFixed(0)} a second, ${faults} faults`)
