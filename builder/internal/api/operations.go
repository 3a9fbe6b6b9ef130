package api

import (
	"io"
	"net/http"
	"strconv"

	"sandlot.dev/builder/internal/images"
	"sandlot.dev/builder/internal/refuse"
)

func (s *Server) resolve(c *call) error {
	var base images.Base
	if err := c.read(&base); err != nil {
		return err
	}
	c.subject, c.secrets = base.Image, base.Credentials.Values()
	found, err := s.plane.Resolve(c, base)
	if err != nil {
		return err
	}
	return c.answer(found)
}

func (s *Server) pushLayer(c *call) error {
	c.subject = c.query("repository")
	layer, err := s.plane.PushLayer(c, c.subject, c.body())
	if err != nil {
		return err
	}
	return c.answer(layer)
}

func (s *Server) compose(c *call) error {
	var composition images.Composition
	if err := c.read(&composition); err != nil {
		return err
	}
	c.subject, c.secrets = composition.Target, composition.Base.Credentials.Values()
	made, err := s.plane.Compose(c, composition)
	if err != nil {
		return err
	}
	return c.answer(made)
}

func (s *Server) findImage(c *call) error {
	c.subject = c.query("reference")
	found, err := s.plane.Find(c, c.subject)
	if err != nil {
		return err
	}
	return c.answer(found)
}

func (s *Server) listTags(c *call) error {
	c.subject = c.query("repository")
	list, err := s.plane.Tags(c, c.subject)
	if err != nil {
		return err
	}
	return c.answer(list)
}

func (s *Server) tagImage(c *call) error {
	var request struct{ Reference, Digest string }
	if err := c.read(&request); err != nil {
		return err
	}
	c.subject = request.Reference
	if err := s.plane.Tag(c, request.Reference, request.Digest); err != nil {
		return err
	}
	c.writer.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteImage(c *call) error {
	c.subject = c.query("reference")
	deletion, err := s.plane.Delete(c, c.subject)
	if err != nil {
		return err
	}
	return c.answer(deletion)
}

func (s *Server) putFile(c *call) error {
	c.subject = c.query("repository")
	file, err := s.plane.PutFile(c, images.FileName{Path: c.subject, Key: c.query("key")}, c.body())
	if err != nil {
		return err
	}
	return c.answer(file)
}

// getFile answers HEAD too, which asks the registry for no archive.
func (s *Server) getFile(c *call) error {
	c.subject = c.query("repository")
	name := images.FileName{Path: c.subject, Key: c.query("key")}
	if c.request.Method == http.MethodHead {
		found, err := s.plane.FindFile(c, name)
		if err != nil {
			return err
		}
		c.writer.Header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
		return nil
	}
	found, body, err := s.plane.OpenFile(c, name)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	c.writer.Header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
	c.writer.Header().Set("Content-Type", "application/octet-stream")
	c.isAnswered = true
	sent, err := io.Copy(c.writer, body)
	c.bytes.Store(sent)
	if err != nil {
		return refuse.Own("the archive of build files", err)
	}
	return nil
}
