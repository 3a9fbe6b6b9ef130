// The process that declares the streams of NATS. No other service may: a declaration can republish the stream to any subject.
import { findStreamSizing, main, runBusWorker } from '@sandlot/service';
import { keepStreams } from './keep/keep-streams.ts';
import { streamsSettings } from './wiring/settings.ts';

await main(streamsSettings, (settings) =>
  runBusWorker({ name: 'streams', settings, streams: findStreamSizing(settings), work: keepStreams }),
);
