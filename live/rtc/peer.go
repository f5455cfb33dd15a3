package rtc

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/wake"
)

// peer is one connection.
type peer struct {
	pc        *webrtc.PeerConnection
	connected chan struct{}   // holds an element once it is connected
	over      chan struct{}   // holds one once it has failed for good
	kicked    <-chan struct{} // closed when it has to go; nil for a camera
}

// feedback lists the RTCP feedback that peers may send.
var feedback = []webrtc.RTCPFeedback{
	{Type: webrtc.TypeRTCPFBNACK}, {Type: webrtc.TypeRTCPFBNACK, Parameter: "pli"}, {Type: webrtc.TypeRTCPFBCCM, Parameter: "fir"},
	{Type: webrtc.TypeRTCPFBGoogREMB}, {Type: webrtc.TypeRTCPFBTransportCC},
}

// codecOf describes a format as pion does.
func codecOf(f format) webrtc.RTPCodecParameters {
	return webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264, ClockRate: clockRate, SDPFmtpLine: f.fmtp, RTCPFeedback: feedback},
		PayloadType:        f.payload,
	}
}

// soundOf describes Opus as pion does.
func soundOf(a *audio) webrtc.RTPCodecParameters {
	return webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: soundRate, Channels: 2, SDPFmtpLine: a.fmtp},
		PayloadType:        a.payload,
	}
}

// newPeer returns a connection for H.264 in some formats and, unless sound is nil, Opus. equip adds
// the interceptors.
func (s *Server) newPeer(formats []format, sound *audio, equip func(*webrtc.MediaEngine, *interceptor.Registry) error) (*peer, error) {
	s.mu.Lock()
	mux, settings := s.mux, s.settings()
	s.mu.Unlock()
	if mux == nil {
		return nil, refuse(http.StatusServiceUnavailable, "vidfilter is starting or ending")
	}
	var media webrtc.MediaEngine
	for _, f := range formats {
		if err := media.RegisterCodec(codecOf(f), webrtc.RTPCodecTypeVideo); err != nil {
			return nil, refuse(http.StatusBadRequest, "a payload type is offered twice")
		}
	}
	if sound != nil {
		if err := media.RegisterCodec(soundOf(sound), webrtc.RTPCodecTypeAudio); err != nil {
			return nil, refuse(http.StatusBadRequest, "a payload type is offered twice")
		}
	}
	var registry interceptor.Registry
	if err := equip(&media, &registry); err != nil {
		return nil, err
	}
	api := webrtc.NewAPI(webrtc.WithMediaEngine(&media), webrtc.WithInterceptorRegistry(&registry), webrtc.WithSettingEngine(settings))
	pc, err := api.NewPeerConnection(s.configuration())
	if err != nil {
		return nil, err
	}
	p := &peer{pc: pc, connected: make(chan struct{}, 1), over: make(chan struct{}, 1)}
	pc.OnConnectionStateChange(func(st webrtc.PeerConnectionState) {
		switch st {
		case webrtc.PeerConnectionStateConnected:
			wake.Up(p.connected)
		case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
			wake.Up(p.over)
		}
	})
	return p, nil
}

// settings must be called with mu held.
func (s *Server) settings() webrtc.SettingEngine {
	e := webrtc.SettingEngine{LoggerFactory: silence}
	e.SetNet(s.net)
	e.SetICEUDPMux(s.mux)
	e.SetICETCPMux(s.tcp)
	e.SetSTUNGatherTimeout(gathering)
	e.SetIncludeLoopbackCandidate(s.loopback)
	// Other machines' mDNS names cannot be resolved here.
	e.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6})
	e.DisableActiveTCP(true)
	e.SetICETimeouts(silent, gone, beat)
	return e
}

// gathering is how long an answer waits for candidates by STUN and TURN servers.
const gathering = 2 * time.Second

// answer takes an offer and returns the answer, with all candidates.
func (p *peer) answer(ctx context.Context, o offer) (string, error) {
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: o.sdp}); err != nil {
		return "", refuse(http.StatusBadRequest, "the offer cannot be used: %s", printable(err.Error()))
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	a, err := p.pc.CreateAnswer(nil)
	if err == nil {
		err = p.pc.SetLocalDescription(a)
	}
	if err != nil {
		return "", refuse(http.StatusBadRequest, "the offer cannot be answered: %s", printable(err.Error()))
	}
	select {
	case <-gathered:
	case <-time.After(gathering + time.Second): // a TURN server is silent
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return mend(p.pc.LocalDescription().SDP, o.loose)
}

// mend moves the candidates to the first accepted section. pion puts them in the first of all,
// which may be a refused audio section, where players do not look. Without a bundle in the offer
// the answer has no bundle.
func mend(answer string, loose bool) (string, error) {
	var d sdp.SessionDescription
	if err := d.UnmarshalString(answer); err != nil {
		return "", err
	}
	if loose {
		d.Attributes = slices.DeleteFunc(d.Attributes, func(a sdp.Attribute) bool { return a.Key == "group" })
	}
	var moved []sdp.Attribute
	isCandidate := func(a sdp.Attribute) bool {
		return strings.HasSuffix(a.Key, "candidate") || a.Key == "end-of-candidates"
	}
	for _, m := range d.MediaDescriptions {
		if m.MediaName.Port.Value != 0 {
			m.Attributes = append(m.Attributes, moved...)
			b, err := d.Marshal()
			return string(b), err
		}
		for _, a := range m.Attributes {
			if isCandidate(a) {
				moved = append(moved, a)
			}
		}
		m.Attributes = slices.DeleteFunc(m.Attributes, isCandidate)
	}
	return "", refuse(http.StatusNotAcceptable, "nothing of the offer can be used")
}

// connect waits for the peer.
func (p *peer) connect(ctx context.Context) error {
	select {
	case <-p.connected:
		return nil
	case <-time.After(patience):
		return errNever
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
