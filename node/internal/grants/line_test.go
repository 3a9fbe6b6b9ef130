package grants_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/store"
)

// crowd is Pods with a snapshot each, on a node that restores one at a time.
type crowd struct {
	*node
	group sync.WaitGroup
	mutex sync.Mutex
	// begun has the Pods in the order in which they began, refused those that were told to ask again.
	begun, refused []int
}

func newCrowd(t *testing.T, most int) *crowd {
	t.Helper()
	c := &crowd{node: newNode(t)}
	c.most, c.clock = most, time.Now
	c.restart()
	return c
}

func requestOf(pod int) grants.Request {
	return grants.Request{
		Namespace: "team", PodName: fmt.Sprintf("analyst-%d", pod),
		PodUID: fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012d", pod), SnapshotUID: fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", pod),
	}
}

func spare(r grants.Request) grants.Request {
	r.Spare = true
	return r
}

// ask announces the Pod and lets its shim ask.
func (c *crowd) ask(ctx context.Context, request grants.Request) {
	c.t.Helper()
	c.save(store.Key{Namespace: "team", UID: request.SnapshotUID}, machine)
	c.announce(request)
	c.shim(ctx, request)
}

func (c *crowd) shim(ctx context.Context, request grants.Request) {
	var pod int
	if _, err := fmt.Sscanf(request.PodName, "analyst-%d", &pod); err != nil {
		c.t.Fatal(err)
	}
	// The shim does not know who waits for the Pod.
	request.Spare = false
	c.group.Go(func() {
		_, err := c.ledger.Begin(ctx, request)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if err == nil {
			c.begun = append(c.begun, pod)
		} else if _, isFull := errors.AsType[*grants.FullError](err); isFull {
			c.refused = append(c.refused, pod)
		}
	})
	synctest.Wait()
}

func (c *crowd) end(pod int) {
	c.t.Helper()
	if err := c.ledger.End(requestOf(pod).PodUID, true, ""); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

func (c *crowd) expectBegun(pods ...int) {
	c.t.Helper()
	synctest.Wait()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !slices.Equal(c.begun, pods) {
		c.t.Errorf("began: %v; want %v", c.begun, pods)
	}
}

func (c *crowd) expectRefused(pods ...int) {
	c.t.Helper()
	synctest.Wait()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !slices.Equal(c.refused, pods) {
		c.t.Errorf("refused: %v; want %v", c.refused, pods)
	}
}

func inCrowd(t *testing.T, most int, test func(c *crowd)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, most)
		test(c)
		c.group.Wait()
		if left := c.ledger.CountWaiting(); left != 0 {
			t.Errorf("%d still wait", left)
		}
	})
}

func TestPodsBeginInTurn(t *testing.T) {
	inCrowd(t, 2, func(c *crowd) {
		for pod := 1; pod <= 5; pod++ {
			c.ask(c.t.Context(), requestOf(pod))
		}
		c.expectBegun(1, 2)
		if begun, waiting := c.ledger.CountBegun(), c.ledger.CountWaiting(); begun != 2 || waiting != 3 {
			t.Errorf("%d are under way and %d wait", begun, waiting)
		}
		c.end(2)
		c.expectBegun(1, 2, 3)
		if err := c.ledger.End(requestOf(1).PodUID, false, "no memory"); err != nil {
			t.Fatal(err)
		}
		c.expectBegun(1, 2, 3, 4)
		c.end(3)
		c.expectBegun(1, 2, 3, 4, 5)
	})
}

func TestPodsOfClaimsBeginBeforeThoseOfWarmPools(t *testing.T) {
	inCrowd(t, 1, func(c *crowd) {
		for _, request := range []grants.Request{requestOf(1), spare(requestOf(2)), spare(requestOf(3)), requestOf(4), requestOf(5)} {
			c.ask(c.t.Context(), request)
		}
		for _, pod := range []int{1, 4, 5, 2} {
			c.end(pod)
		}
		c.expectBegun(1, 4, 5, 2, 3)
	})
}

func TestPodsOfWarmPoolsAreOvertakenForAWhile(t *testing.T) {
	inCrowd(t, 1, func(c *crowd) {
		c.ask(c.t.Context(), requestOf(1))
		c.ask(c.t.Context(), spare(requestOf(2)))
		for pod := 3; pod <= 5; pod++ {
			time.Sleep(seconds(15))
			c.ask(c.t.Context(), requestOf(pod))
		}
		for _, pod := range []int{1, 2, 3, 4} {
			c.end(pod)
		}
		c.expectBegun(1, 2, 3, 4, 5)
	})
}

func TestPodThatAClaimTakesFromItsPoolIsOvertakenNoLonger(t *testing.T) {
	inCrowd(t, 1, func(c *crowd) {
		c.ask(c.t.Context(), requestOf(1))
		c.ask(c.t.Context(), spare(requestOf(2)))
		c.ask(c.t.Context(), requestOf(3))
		if g := c.announce(requestOf(2)); g.State != grants.Announced || g.Spare {
			t.Errorf("got %+v", g)
		}
		c.end(1)
		c.end(2)
		c.expectBegun(1, 2, 3)
	})
}

func TestShimThatDiedKeepsOthersWaitingForAWhile(t *testing.T) {
	inCrowd(t, 1, func(c *crowd) {
		c.ask(c.t.Context(), requestOf(1))
		time.Sleep(seconds(60))
		c.restart()
		c.ask(c.t.Context(), requestOf(2))
		time.Sleep(seconds(59))
		c.expectBegun(1)
		time.Sleep(seconds(2))
		c.expectBegun(1, 2)
	})
}

func TestPodThatLeavesTheLineLetsTheNextBegin(t *testing.T) {
	for name, leave := range map[string]func(c *crowd, hangUp func()){
		"its shim is gone":           func(_ *crowd, hangUp func()) { hangUp() },
		"its announcement withdrawn": func(c *crowd, _ func()) { c.expectWithdrawal(requestOf(2)) },
		"its snapshot deleted":       func(c *crowd, _ func()) { c.expectDeletion(requestOf(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, 1, func(c *crowd) {
				gone, hangUp := context.WithCancel(c.t.Context())
				defer hangUp()
				c.ask(c.t.Context(), requestOf(1))
				c.ask(gone, requestOf(2))
				c.ask(c.t.Context(), requestOf(3))
				leave(c, hangUp)
				c.end(1)
				c.expectBegun(1, 3)
			})
		})
	}
}

func (c *crowd) expectWithdrawal(request grants.Request) {
	c.t.Helper()
	if err := c.ledger.Withdraw(request.PodUID); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crowd) expectDeletion(request grants.Request) {
	c.t.Helper()
	if err := c.store.Delete(request.Snapshot()); err != nil {
		c.t.Fatal(err)
	}
}

func TestPodWhoseTurnDoesNotComeAsksAgain(t *testing.T) {
	inCrowd(t, 1, func(c *crowd) {
		for pod := range 3 {
			c.ask(c.t.Context(), requestOf(pod))
			time.Sleep(seconds(10))
		}
		time.Sleep(seconds(85))
		c.expectBegun(0)
		c.expectRefused(1)
		c.shim(c.t.Context(), requestOf(1))
		c.end(0)
		c.end(2)
		c.expectBegun(0, 2, 1)
	})
}
