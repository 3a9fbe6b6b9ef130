package store

import "sync"

// keyLocks has a lock for each snapshot that something is done to. Its zero value is ready.
type keyLocks struct {
	mutex sync.Mutex
	held  map[Key]*keyLock
}

type keyLock struct {
	sync.Mutex
	// users hold the lock or wait for it.
	users int
}

// lock waits until nothing else has the snapshot, and returns what gives it back.
func (l *keyLocks) lock(key Key) (unlock func()) {
	l.mutex.Lock()
	if l.held == nil {
		l.held = map[Key]*keyLock{}
	}
	one, isHeld := l.held[key]
	if !isHeld {
		one = &keyLock{}
		l.held[key] = one
	}
	one.users++
	l.mutex.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, key)
		}
	}
}
